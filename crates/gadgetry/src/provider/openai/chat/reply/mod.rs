//! Replies of Chat Completions.

mod calls;
mod chunk;
mod decode;
pub(super) mod kept;
mod quick;

pub use decode::Decoder;
