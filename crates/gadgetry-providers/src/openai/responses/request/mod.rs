//! Requests of the Responses API, in both directions.

mod decode;
pub(super) mod encode;
mod items;

pub use decode::decode_request;
