//! What the fuzz targets call: the same properties that the engine's tests run on a stable compiler.

#[path = "../../crates/gadgetry-proto/tests/support/properties.rs"]
pub mod properties;
