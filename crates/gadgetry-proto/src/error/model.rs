//! A model call that failed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Classified, Fault};

/// The kind of a failed model call, as far as it decides what to do about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The key is missing or refused.
    Authentication,
    /// Too many requests or tokens for now.
    RateLimit,
    /// The provider has no room for now, or failed inside.
    Overloaded,
    /// The conversation is longer than the model's window.
    ContextOverflow,
    /// The request is one that the provider does not take.
    BadRequest,
    /// The connection could not be made, or broke.
    Transport,
    /// The stream ended before the reply did.
    Truncated,
    /// The provider withheld the reply.
    ContentFilter,
    /// An error of any other kind.
    #[default]
    Other,
}

impl ModelErrorKind {
    /// Returns the party that has to change something.
    pub fn fault(self) -> Fault {
        match self {
            Self::ContextOverflow => Fault::Caller,
            Self::Authentication | Self::BadRequest => Fault::Program,
            Self::ContentFilter => Fault::Model,
            Self::RateLimit
            | Self::Overloaded
            | Self::Transport
            | Self::Truncated
            | Self::Other => Fault::Provider,
        }
    }

    /// Returns `true` if the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        match self {
            Self::RateLimit | Self::Overloaded | Self::Transport | Self::Truncated => true,
            Self::Authentication
            | Self::ContextOverflow
            | Self::BadRequest
            | Self::ContentFilter
            | Self::Other => false,
        }
    }
}

/// The facts that a provider gives about a conversation that was too long, as far as it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Overflow {
    /// The tokens of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens: Option<u64>,
    /// The context window of the model, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// A model call that failed. It holds no key.
///
/// A server can answer its own client by it, without reading the message:
///
/// ```
/// use gadgetry_proto::error::{ModelError, ModelErrorKind};
///
/// fn status(error: &ModelError) -> u16 {
///     match error.kind {
///         ModelErrorKind::RateLimit => 429, // and `Retry-After`, from `retry_after`
///         ModelErrorKind::ContextOverflow => 413,
///         ModelErrorKind::Authentication => 500,
///         _ => 502,
///     }
/// }
/// let error = ModelError::new(ModelErrorKind::RateLimit, "slow down").with_status(429).with_retry_after_ms(2_000);
/// assert_eq!(status(&error), 429);
/// assert_eq!(error.retry_after().map(|wait| wait.as_secs()), Some(2));
/// ```
///
/// In JSON the message is `error`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelError {
    /// The kind of the error, which decides about a retry.
    #[serde(default)]
    pub kind: ModelErrorKind,
    /// The message: that of the provider, or ours if it sent none.
    #[serde(rename = "error", alias = "words")]
    pub message: String,
    /// The HTTP status, if there was an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's code, or its type of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The delay before a retry that the provider asks for, in milliseconds.
    #[serde(
        default,
        alias = "retry_after_ms",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_after_ms: Option<u64>,
    /// The provider's id of the request, for its support.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The provider's numbers about the window, if the conversation was too long for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overflow: Option<Box<Overflow>>,
}

impl ModelError {
    /// An error with nothing but its kind and message.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            code: None,
            retry_after_ms: None,
            request_id: None,
            overflow: None,
        }
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: impl Into<Option<u16>>) -> Self {
        self.status = status.into();
        self
    }

    /// Sets the provider's code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Sets the delay before a retry that the provider asks for, in milliseconds.
    #[must_use]
    pub fn with_retry_after_ms(mut self, ms: impl Into<Option<u64>>) -> Self {
        self.retry_after_ms = ms.into();
        self
    }

    /// Sets the provider's id of the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// Sets the provider's numbers about the window.
    #[must_use]
    pub fn with_overflow(mut self, overflow: impl Into<Option<Overflow>>) -> Self {
        self.overflow = overflow.into().map(Box::new);
        self
    }

    /// Returns the delay before a retry that the provider asks for.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ms.map(Duration::from_millis)
    }
}

impl Classified for ModelError {
    fn fault(&self) -> Fault {
        self.kind.fault()
    }

    fn is_retryable(&self) -> bool {
        self.kind.is_retryable()
    }
}
