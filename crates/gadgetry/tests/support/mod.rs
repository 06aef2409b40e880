//! What several tests of the runtime use.

pub(crate) mod own_process;
pub(crate) mod programs;
pub(crate) mod stage;
