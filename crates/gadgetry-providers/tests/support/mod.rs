//! What several tests of the providers use.

#[cfg(feature = "http")]
pub(crate) mod turns;
#[cfg(feature = "http")]
pub(crate) mod wire;
