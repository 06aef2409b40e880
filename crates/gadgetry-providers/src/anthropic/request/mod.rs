//! Requests of the Messages API, in both directions.

mod decode;
pub(super) mod encode;
mod messages;

pub use decode::decode_request;
