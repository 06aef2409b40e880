//! Errors in the form of each API.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{Classified, Fault, ModelError, ModelErrorKind};
use serde_json::{Value, json};

use super::kind::ClientApi;

/// Codes of refusals because something does not exist.
const NOT_FOUND: [&str; 2] = ["previous_response_not_found", "item_not_found"];

/// Error for a request that cannot be honoured: a mistake of the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Refusal {
    /// Problem, for the client's developer.
    pub message: String,
    /// The field.
    pub field: Option<String>,
    /// The code, if clients know one.
    pub code: Option<&'static str>,
    /// Details for the client's library, in the API's form.
    pub details: Option<Box<Value>>,
}

impl Classified for Refusal {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

impl Refusal {
    /// Makes a refusal because of `field`.
    pub fn new(field: &str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            field: Some(field.to_owned()),
            code: None,
            details: None,
        }
    }
}

impl From<gadgetry_providers::RequestError> for Refusal {
    fn from(error: gadgetry_providers::RequestError) -> Self {
        Self::new(&error.field, error.to_string())
    }
}

/// Reason for which a request has no reply, whatever the API.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The request cannot be honoured.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The body is not JSON.
    #[error("the body is not valid JSON: {0}")]
    NotJson(String),
    /// The body is larger than the limit.
    #[error("the body is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The body did not arrive in time.
    #[error("the body did not arrive within {seconds} s")]
    Slow {
        /// The limit in seconds.
        seconds: u64,
    },
    /// The key is missing or unknown.
    #[error(
        "the key is missing or not valid: send `authorization: Bearer KEY` or `x-api-key: KEY`"
    )]
    Unauthorized,
    /// There are no keys, so only this machine is served, but the request names another host.
    #[error(
        "without keys the gateway answers to this machine only: the request's host must be localhost, 127.0.0.1 or \
         [::1], with or without a port. To serve other names, start it with `--keys FILE`"
    )]
    ForeignHost,
    /// The client has too many requests in flight or per minute.
    #[error("too many requests: {what}")]
    Limited {
        /// Name of the limit.
        what: &'static str,
        /// Milliseconds until another try makes sense.
        retry_after_ms: u64,
    },
    /// The gateway has too many requests in flight, or is shutting down.
    #[error("the gateway is {what}; try again later")]
    Busy {
        /// `at its limit of requests in flight` or `shutting down`.
        what: &'static str,
    },
    /// No upstream serves the model.
    #[error("unknown model {0:?}: see GET /v1/models for those that are configured")]
    UnknownModel(String),
    /// The upstream has failed, or its reply is unusable.
    #[error("{message}")]
    Upstream {
        /// Text of the upstream's error.
        message: String,
        /// Code of the upstream's error.
        code: Option<String>,
        /// Meaning of the error.
        kind: ModelErrorKind,
        /// Milliseconds until another try makes sense.
        retry_after_ms: Option<u64>,
    },
    /// There is no such endpoint.
    #[error("unknown endpoint {0}")]
    NotFound(String),
    /// The endpoint has no such method.
    #[error("method not allowed")]
    Method,
}

impl Classified for Failure {
    fn fault(&self) -> Fault {
        match self {
            Self::Upstream { kind, .. } => kind.fault(),
            Self::Busy { .. } => Fault::Environment,
            Self::Refused(_)
            | Self::NotJson(_)
            | Self::TooLarge { .. }
            | Self::Slow { .. }
            | Self::Unauthorized
            | Self::ForeignHost
            | Self::Limited { .. }
            | Self::UnknownModel(_)
            | Self::NotFound(_)
            | Self::Method => Fault::Caller,
        }
    }

    fn is_retryable(&self) -> bool {
        match self {
            Self::Upstream { kind, .. } => kind.is_retryable(),
            _ => matches!(
                self,
                Self::Busy { .. } | Self::Limited { .. } | Self::Slow { .. }
            ),
        }
    }
}

/// Converts an error in a stream. Addresses have already been removed from errors of upstreams.
impl From<Delta> for Failure {
    fn from(delta: Delta) -> Self {
        let Delta::Error(ModelError {
            message: error,
            code,
            kind,
            retry_after_ms,
            ..
        }) = delta
        else {
            return Self::Upstream {
                message: "the upstream sent nothing".to_owned(),
                code: None,
                kind: ModelErrorKind::Other,
                retry_after_ms: None,
            };
        };
        Self::Upstream {
            message: error,
            code,
            kind,
            retry_after_ms,
        }
    }
}

impl Failure {
    /// Returns the HTTP status, as the original servers of `api` use it.
    pub fn status(&self, api: ClientApi) -> u16 {
        match self {
            Self::Refused(refusal) if refusal.code.is_some_and(|it| NOT_FOUND.contains(&it)) => 404,
            Self::Refused(_) | Self::NotJson(_) => 400,
            Self::TooLarge { .. } => 413,
            Self::Slow { .. } => 408,
            Self::Unauthorized => 401,
            Self::ForeignHost => 403,
            Self::Limited { .. } => 429,
            Self::Busy { .. } => overloaded(api),
            Self::UnknownModel(_) | Self::NotFound(_) => 404,
            Self::Method => 405,
            Self::Upstream { kind, code, .. } => match kind {
                _ if code.as_deref() == Some("tool_choice_not_satisfied") => 400,
                ModelErrorKind::RateLimit => 429,
                ModelErrorKind::Overloaded => overloaded(api),
                ModelErrorKind::ContextOverflow
                | ModelErrorKind::BadRequest
                | ModelErrorKind::ContentFilter => 400,
                // The gateway's own key is wrong: nothing that the client could change.
                ModelErrorKind::Authentication
                | ModelErrorKind::Transport
                | ModelErrorKind::Truncated
                | ModelErrorKind::Other
                | _ => 502,
            },
        }
    }

    /// Returns `true` if the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Limited { .. } | Self::Busy { .. } | Self::Slow { .. } => true,
            Self::Upstream { kind, .. } => matches!(
                kind,
                ModelErrorKind::RateLimit
                    | ModelErrorKind::Overloaded
                    | ModelErrorKind::Transport
                    | ModelErrorKind::Truncated
            ),
            _ => false,
        }
    }

    /// Returns the milliseconds until another try makes sense.
    pub fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Limited { retry_after_ms, .. } => Some(*retry_after_ms),
            Self::Busy { .. } => Some(1_000),
            Self::Upstream { retry_after_ms, .. } => *retry_after_ms,
            _ => None,
        }
    }

    /// Returns the error's code in the API of OpenAI.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Unauthorized => Some("invalid_api_key"),
            Self::ForeignHost => Some("host_not_allowed"),
            Self::Limited { .. } => Some("rate_limit_exceeded"),
            Self::UnknownModel(_) => Some("model_not_found"),
            Self::Upstream {
                kind: ModelErrorKind::ContextOverflow,
                ..
            } => Some("context_length_exceeded"),
            Self::Upstream { code, .. } => code.as_deref(),
            _ => None,
        }
    }

    /// Returns the body, in the form of `api`.
    pub fn body(&self, api: ClientApi) -> Value {
        let status = self.status(api);
        let message = self.to_string();
        match api {
            ClientApi::Chat | ClientApi::Responses => {
                let kind = match status {
                    401 => "authentication_error",
                    429 => "rate_limit_error",
                    400..=499 => "invalid_request_error",
                    _ => "server_error",
                };
                let field = match self {
                    Self::Refused(refusal) => refusal.field.as_deref(),
                    _ => None,
                };
                json!({"error": {"message": message, "type": kind, "param": field, "code": self.code()}})
            }
            ClientApi::Messages => {
                let kind = match status {
                    401 => "authentication_error",
                    403 => "permission_error",
                    404 => "not_found_error",
                    413 => "request_too_large",
                    429 => "rate_limit_error",
                    529 => "overloaded_error",
                    400..=499 => "invalid_request_error",
                    _ => "api_error",
                };
                let mut error = json!({"type": kind, "message": message});
                if let Self::Refused(Refusal {
                    details: Some(details),
                    ..
                }) = self
                {
                    error["details"] = (**details).clone();
                }
                json!({"type": "error", "error": error})
            }
        }
    }
}

fn overloaded(api: ClientApi) -> u16 {
    match api {
        ClientApi::Chat | ClientApi::Responses => 503,
        ClientApi::Messages => 529,
    }
}
