//! Replies of the Messages API, in both directions.

mod block;
mod decode;
mod encode;
mod fields;
mod usage;

pub use decode::Decoder;
pub use encode::Encoder;
