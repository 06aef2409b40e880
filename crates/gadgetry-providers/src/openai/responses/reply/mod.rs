//! Replies of the Responses API, in both directions.

mod call;
mod decode;
mod encode;
mod item;
mod items;

pub use decode::Decoder;
pub use encode::Encoder;
