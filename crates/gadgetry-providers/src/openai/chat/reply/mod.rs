//! Replies of Chat Completions, in both directions.

mod calls;
mod chunk;
mod decode;
mod encode;
pub(super) mod kept;
mod quick;

pub use decode::Decoder;
pub use encode::Encoder;
