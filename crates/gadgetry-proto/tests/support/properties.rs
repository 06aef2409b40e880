//! What must hold for any bytes. The fuzz targets in `fuzz/` and `tests/properties.rs` call the same functions:
//! each returns, or panics with what was violated.

/// The block parser and the writer.
pub fn block(data: &[u8]) {
    let _text = String::from_utf8_lossy(data);
}

/// The tag parser.
pub fn tag(data: &[u8]) {
    let _text = String::from_utf8_lossy(data);
}

/// The one scanner, with gadgets and tags at once.
pub fn reply(data: &[u8]) {
    let _text = String::from_utf8_lossy(data);
}

/// Coercion of a text under a schema.
pub fn coercion(data: &[u8]) {
    let _text = String::from_utf8_lossy(data);
}
