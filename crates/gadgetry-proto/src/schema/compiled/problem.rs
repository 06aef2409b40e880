//! A problem of parameters.

use std::fmt;

use serde::Deserialize;
use serde::Serialize;

/// One thing that is wrong with parameters. Displays as `path: message`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The dotted path of the value, `oven.racks.0`, or `root`.
    pub pointer: String,
    /// The problem there, in one short sentence.
    pub message: String,
}

impl Problem {
    /// A problem of the parameters as a whole.
    pub(super) fn of_all(message: &str) -> Self {
        Self {
            pointer: "root".to_owned(),
            message: message.to_owned(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.message)
    }
}
