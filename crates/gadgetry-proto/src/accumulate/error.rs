//! Failures inside a stream.

use serde::{Deserialize, Serialize};

/// A failure inside a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamError {
    /// A message that says whose fault it is.
    pub message: String,
    /// The provider's code, [`StreamError::PROVIDER`], or [`StreamError::TOOL_INPUT`].
    pub code: String,
}

impl StreamError {
    /// The code of an error to which the provider gave none.
    pub const PROVIDER: &str = "stream_error";
    /// The code when the model wrote something else than JSON as the input of a tool call.
    pub const TOOL_INPUT: &str = "invalid_tool_input";
}
