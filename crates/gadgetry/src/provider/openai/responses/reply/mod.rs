//! Replies of the Responses API.

mod call;
mod decode;
mod item;

pub use decode::Decoder;
