//! What the tests share: a scripted upstream, a gateway before it, and a plain HTTP client.

pub(crate) mod exchanges;
pub(crate) mod upstream;
pub(crate) mod world;
