//! Failures in the events of a run.

use std::fmt;

use gadgetry_proto::error::ModelError;
use gadgetry_proto::event::{Ancestor, CallAnswer, Event, EventKind, FinishReason};
use gadgetry_proto::id::InvocationId;
use gadgetry_proto::time::Time;

use crate::observer::Observer;
use crate::presets::{is_wanted, path_words};

/// Calls a closure for every failure.
///
/// ```
/// use gadgetry::presets::{ErrorLogging, Failure};
/// let mut lines = Vec::new();
/// let observer = ErrorLogging::new(|failure: &Failure| lines.push(failure.to_string()));
/// # drop(observer);
/// ```
pub struct ErrorLogging<F> {
    on_error: F,
}

impl<F: FnMut(&Failure) + Send> ErrorLogging<F> {
    /// Calls `on_error`.
    pub fn new(on_error: F) -> Self {
        Self { on_error }
    }
}

impl<F: FnMut(&Failure) + Send> Observer for ErrorLogging<F> {
    fn event(&mut self, event: &Event) {
        if let Some(failure) = Failure::of(event) {
            (self.on_error)(&failure);
        }
    }
}

impl<F> fmt::Debug for ErrorLogging<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorLogging").finish_non_exhaustive()
    }
}

/// A failure in a run. It displays as one line without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The time in the run, in milliseconds.
    pub time: Time,
    /// The path of the subagent; empty for the run itself.
    pub path: Vec<Ancestor>,
    /// The kind of the failure, with its data.
    pub kind: FailureKind,
}

/// The kind of a [`Failure`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// A model call failed. A retry or a recovery may follow.
    ModelCall {
        /// The number of the reply in its run, from 1.
        iteration: u32,
        /// The error.
        error: ModelError,
    },
    /// A model call failed and is retried.
    Retry {
        /// The number of the reply in its run, from 1.
        iteration: u32,
        /// The number of the retry that follows, from 1.
        attempt: u32,
        /// The number of retries that may follow that one.
        left: u32,
        /// The error.
        error: ModelError,
    },
    /// A gadget call failed: it was malformed, refused, too late or cancelled, or its gadget failed.
    Gadget {
        /// The id of the call for the model.
        invocation_id: InvocationId,
        /// The name as written.
        gadget_name: String,
        /// The error that the model reads.
        error: String,
    },
    /// A gadget call was not executed because of a dependency or a limit.
    Skipped {
        /// The id of the call for the model.
        invocation_id: InvocationId,
        /// The name as written.
        gadget_name: String,
        /// The error that the model reads.
        error: String,
    },
    /// The run ended before it was done; cancelling or stopping it is not a failure.
    Run {
        /// The reason the run ended.
        reason: FinishReason,
        /// The error, if a model call has ended it.
        error: Option<ModelError>,
    },
}

impl Failure {
    /// Returns the failure that an event reports, if any.
    pub fn of(event: &Event) -> Option<Self> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "most events tell of no failure"
        )]
        let kind = match &event.kind {
            EventKind::ModelCallEnd {
                iteration,
                error: Some(error),
                ..
            } => FailureKind::ModelCall {
                iteration: *iteration,
                error: error.clone(),
            },
            EventKind::ModelRetry {
                iteration,
                attempt,
                left,
                error,
                ..
            } => FailureKind::Retry {
                iteration: *iteration,
                attempt: *attempt,
                left: *left,
                error: error.clone(),
            },
            EventKind::GadgetResult {
                invocation_id,
                gadget_name,
                answer: CallAnswer::Error(error),
                ..
            } => FailureKind::Gadget {
                invocation_id: invocation_id.clone(),
                gadget_name: gadget_name.clone(),
                error: error.clone(),
            },
            EventKind::GadgetSkipped {
                invocation_id,
                gadget_name,
                error,
                ..
            } => FailureKind::Skipped {
                invocation_id: invocation_id.clone(),
                gadget_name: gadget_name.clone(),
                error: error.clone(),
            },
            EventKind::RunFinished { reason, error, .. } if !is_wanted(*reason) => {
                FailureKind::Run {
                    reason: *reason,
                    error: error.clone(),
                }
            }
            _ => return None,
        };
        Some(Self {
            time: event.time,
            path: event.path.clone(),
            kind,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.path.as_slice() {
            [] => String::new(),
            path => format!("in {}: ", path_words(path)),
        };
        let what = match &self.kind {
            FailureKind::ModelCall { iteration, error } => {
                format!("reply {iteration} failed: {error}")
            }
            FailureKind::Retry {
                iteration,
                attempt,
                left,
                error,
            } => format!("retry {attempt} of reply {iteration}, {left} left: {error}"),
            FailureKind::Gadget {
                invocation_id,
                gadget_name,
                error,
            } => format!("{gadget_name} {invocation_id} failed: {error}"),
            FailureKind::Skipped {
                invocation_id,
                gadget_name,
                error,
            } => format!("{gadget_name} {invocation_id} skipped: {error}"),
            FailureKind::Run {
                reason,
                error: None,
            } => format!("the run ended early: {reason:?}"),
            FailureKind::Run {
                reason,
                error: Some(error),
            } => format!("the run ended early: {reason:?}: {error}"),
        };
        let line = format!("{place}{what}").replace(char::is_control, " ");
        write!(f, "{} ms: {line}", self.time.0)
    }
}
