//! What several tests of the runtime use.

pub(crate) mod own_process;
pub(crate) mod programs;
pub(crate) mod stage;
#[cfg(feature = "providers")]
pub(crate) mod turns;
#[cfg(feature = "providers")]
pub(crate) mod wire;
