//! Replies that ended before the model was done.

use serde::{Deserialize, Serialize};

use crate::delta::StopReason;

/// The way in which a reply ended before the model was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Truncation {
    Length,
    Filter,
    Error,
    Disconnect,
    Cancelled,
    /// The reply ended without a reason.
    Unspecified,
    /// The reply is whole, but not the call that was open when the next turn began.
    NextTurn,
    /// The reply ended with a reason that does not say that it is whole.
    Reason(StopReason),
}

impl Truncation {
    /// Returns how a reply was cut that ended with this reason; `None` if it is whole. Without any reason the connection ended.
    pub(crate) fn of(stop_reason: Option<&StopReason>) -> Option<Self> {
        match stop_reason {
            None => Some(Self::Disconnect),
            Some(
                StopReason::Stop
                | StopReason::StopSequence
                | StopReason::ToolUse
                | StopReason::NextTurn,
            ) => None,
            Some(StopReason::MaxTokens) => Some(Self::Length),
            Some(StopReason::ContentFilter) => Some(Self::Filter),
            Some(StopReason::Error) => Some(Self::Error),
            Some(StopReason::Unspecified) => Some(Self::Unspecified),
            Some(reason @ StopReason::Other(_)) => Some(Self::Reason(reason.clone())),
        }
    }

    /// The same for a call that only this end completed.
    pub(crate) fn of_call(stop_reason: Option<&StopReason>) -> Option<Self> {
        match stop_reason {
            Some(StopReason::NextTurn) => Some(Self::NextTurn),
            other => Self::of(other),
        }
    }

    /// Returns the answer to a call that only this end of the reply completed.
    pub(crate) fn refusal(&self) -> String {
        // What the user has stopped is not to be begun again.
        let advice = if *self == Self::Cancelled {
            ""
        } else {
            " Write the call again."
        };
        format!(
            "Error: The call was not executed: {} before the block was complete.{advice}",
            self.words()
        )
    }

    /// Returns the end of the reply as a clause.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Length => "the reply was cut off by the token limit".to_owned(),
            Self::Filter => "the reply was cut off by the provider's content filter".to_owned(),
            Self::Error => "the reply was cut off by an error of the model".to_owned(),
            Self::Disconnect => "the reply was cut off because the connection ended".to_owned(),
            Self::Cancelled => "the reply was cut off because the run was cancelled".to_owned(),
            Self::Unspecified => "the reply ended without a stop reason".to_owned(),
            Self::NextTurn => "the reply ended at the next turn".to_owned(),
            Self::Reason(reason) => format!("the reply ended with the reason \"{reason}\""),
        }
    }
}
