//! A saved run.

use serde::{Deserialize, Serialize};

use crate::reply::PipelineState;
use crate::run::state::State;

/// Everything that a saved run needs besides its [`crate::run::Plan`]. Opaque; made to be serialised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub(super) state: State,
    pub(super) pipeline: PipelineState,
}
