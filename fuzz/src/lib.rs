//! What the fuzz targets call: the same properties that the engine's tests run on a stable compiler.

#[path = "../../crates/gadgetry-proto/tests/support/properties.rs"]
pub mod properties;

#[path = "../../crates/gadgetry-providers/tests/support/wire.rs"]
mod wire;

#[path = "../../crates/gadgetry-gateway/tests/support/bodies.rs"]
mod bodies;

/// What is true of any bytes that a provider may send.
pub fn sse(data: &[u8]) {
    wire::check(data);
}

/// What is true of any body that a client of the gateway may send.
pub fn gateway(api: gadgetry_gateway::ClientApi, data: &[u8]) {
    bodies::check(api, data);
}
