//! Failures of a user's client.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{ModelError, ModelErrorKind};

/// A failure of the client of an [`Adapter`](super::Adapter).
///
/// Every error type becomes one through `?` or [`From`], with its causes in the message and a kind that is not retried.
/// [`AdapterError::new`] sets another kind.
///
/// ```
/// use std::time::Duration;
/// use gadgetry::ModelErrorKind;
/// use gadgetry::provider::adapter::AdapterError;
///
/// let error = AdapterError::from(std::io::Error::other("no route"));
/// assert_eq!(error.to_string(), "no route");
/// let error = AdapterError::new(ModelErrorKind::RateLimit, "slow down").retry_after(Duration::from_secs(7));
/// assert_eq!(error.kind(), ModelErrorKind::RateLimit);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterError(ModelError);

impl AdapterError {
    /// A failure of a kind, with a message.
    pub fn new(kind: ModelErrorKind, words: impl Into<String>) -> Self {
        Self(ModelError::new(kind, words))
    }

    /// Sets the provider's code.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.0.code = Some(code.into());
        self
    }

    /// Sets the wait that the provider requests.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Returns the kind of the error for a run.
    pub fn kind(&self) -> ModelErrorKind {
        self.0.kind
    }

    pub(super) fn into_delta(self) -> Delta {
        self.0.into()
    }
}

impl fmt::Display for AdapterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// It does not implement `Error`, so that every `Error` can become one.
impl<E: Error> From<E> for AdapterError {
    fn from(error: E) -> Self {
        let mut words = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Many errors repeat their cause.
            if !words.contains(&text) {
                words.push_str(": ");
                words.push_str(&text);
            }
            cause = error.source();
        }
        Self::new(ModelErrorKind::Other, words)
    }
}
