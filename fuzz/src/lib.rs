//! What the fuzz targets call: the same properties that the engine's tests run on a stable compiler.

#[path = "../../crates/gadgetry-proto/tests/support/properties.rs"]
pub mod properties;

#[path = "../../crates/gadgetry/tests/support/wire.rs"]
mod wire;

#[path = "../../crates/gadgetry-gateway/tests/support/bodies.rs"]
pub mod bodies;

/// What is true of any bytes that a provider may send.
pub fn sse(data: &[u8]) {
    wire::check(data);
}
