//! Requests of Chat Completions, in both directions.

mod decode;
pub(super) mod encode;
mod messages;

pub use decode::decode_request;
