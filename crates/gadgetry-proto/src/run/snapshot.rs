//! A saved run.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::reply::ScannerState;
use crate::run::state::State;

/// Everything that a saved run needs besides its [`crate::run::RunSpec`]. Opaque; made to be serialised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    pub(super) state: State,
    pub(super) scanner: ScannerState,
    pub(super) transforms: Value,
}
