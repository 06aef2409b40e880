//! Replies of the Messages API.

mod block;
mod decode;
mod fields;
mod usage;

pub use decode::Decoder;
