//! Errors of model calls, and what a provider's refusal means.

use std::fmt;
use std::time::Duration;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{Classified, Fault, ModelError, ModelErrorKind, Overflow};
use serde_json::Value;

use crate::json;
use crate::overflow;
use crate::redact::Secrets;
use crate::retry_after::units;
use crate::secret::ApiKey;

/// The maximum number of characters kept of a provider's message.
const MESSAGE_CHARS: usize = 1000;

/// The maximum number of characters shown of a frame that cannot be read.
const FRAME_CHARS: usize = 200;

/// A wait from this length on is part of the message, in milliseconds.
const LONG_WAIT_MS: u64 = 60_000;

/// The message about JSON that is nested too deeply.
pub(super) const TOO_DEEP: &str =
    "the provider sent JSON with more than 127 nested levels, which is not read";

/// A model call that failed. It never holds a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct ProviderError {
    /// Kind of the error, by which the run decides about a retry.
    pub kind: ModelErrorKind,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// The provider's message, or ours if it sent none.
    pub message: String,
    /// The provider's code, or its type of the error.
    pub code: Option<String>,
    /// The wait that the provider requests, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
    /// Statement of the provider about the window, if the conversation was too long for it.
    pub overflow: Option<Box<Overflow>>,
}

impl Classified for ProviderError {
    fn fault(&self) -> Fault {
        self.kind.fault()
    }

    fn is_retryable(&self) -> bool {
        self.kind.is_retryable()
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (self.status, &self.request_id) {
            (Some(status), Some(id)) => write!(f, " (HTTP {status}, request {id})"),
            (Some(status), None) => write!(f, " (HTTP {status})"),
            (None, Some(id)) => write!(f, " (request {id})"),
            (None, None) => Ok(()),
        }?;
        // A short wait is acceptable; a long one is for the user to decide.
        match self.retry_after_ms.filter(|ms| *ms >= LONG_WAIT_MS) {
            Some(ms) => write!(f, "; the provider asks to wait {}", wait(ms)),
            None => Ok(()),
        }
    }
}

impl ProviderError {
    /// The code of an answer that no API of models gives: a redirect, a web page, another encoding, text in place of JSON.
    ///
    /// The request may be right; what is at the base URL is not.
    pub const NOT_AN_API: &str = "not_an_api";

    /// An error without a provider's answer.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            status: None,
            message: message.into(),
            code: None,
            retry_after_ms: None,
            request_id: None,
            overflow: None,
        }
    }

    /// The error of an answer with an error status. `body` is read as any provider's JSON, or else shown as it is.
    pub fn from_response(status: u16, body: &str) -> Self {
        Self::refused(status, body, &Secrets::default())
    }

    /// [`Self::from_response`] without secrets, which are removed before the message is shortened.
    pub(crate) fn refused(status: u16, body: &str, secrets: &Secrets) -> Self {
        let mut parsed = serde_json::from_str(body).ok();
        if let Some(body) = &mut parsed {
            secrets.clean_value(body);
        }
        let of_api = parsed.as_ref().and_then(Self::from_body);
        let is_of_api = of_api.is_some();
        let mut error = of_api.unwrap_or_else(|| {
            let mut body = body.to_owned();
            secrets.clean(&mut body);
            Self::new(ModelErrorKind::Other, words(&body))
        });
        error.status = Some(status);
        error.kind = kind(Some(status), error.code.as_deref(), &error.message);
        if !is_of_api {
            error = error.not_an_api();
        }
        if error.message.is_empty() {
            error.message = format!("the provider answered with status {status} and no message");
        }
        error.advise();
        error
    }

    /// The error of an answer that is neither an event stream nor a reply in JSON.
    ///
    /// JSON that breaks off is [`ModelErrorKind::Transport`]; for everything else the base URL is wrong.
    pub(crate) fn foreign(body: &str) -> Self {
        if is_web_page(body) {
            let message = "the answer is a web page, not an API's; check the base URL";
            return Self::new(ModelErrorKind::BadRequest, message).not_an_api();
        }
        let shown = words(body);
        let is_json = body.trim_start().starts_with(['{', '[']);
        let (kind, message) = if !is_json {
            let message =
                format!("the answer is not an API's; check the base URL. It begins: {shown}");
            (ModelErrorKind::BadRequest, message)
        } else if json::is_json(body) {
            if let Err(error) = json::parse(body) {
                return Self::unreadable(body, &error);
            }
            let message = format!(
                "the answer is JSON, but not a reply; check the base URL. It begins: {shown}"
            );
            (ModelErrorKind::BadRequest, message)
        } else {
            let message = format!("the answer is neither an event stream nor JSON: {shown}");
            (ModelErrorKind::Transport, message)
        };
        Self::new(kind, message).not_an_api()
    }

    /// The same error with the code [`Self::NOT_AN_API`].
    pub(super) fn not_an_api(mut self) -> Self {
        self.code = Some(Self::NOT_AN_API.to_owned());
        self
    }

    /// The error of a frame or document that cannot be read because of `error`.
    ///
    /// What is not JSON may have been damaged on its way, so a retry may help. JSON that is too deep, or has too large a
    /// number, would come again.
    pub(super) fn unreadable(sent: &str, error: &serde_json::Error) -> Self {
        let shown: String = sent.chars().take(FRAME_CHARS).collect();
        let (kind, message) = if !json::is_json(sent) {
            let message = format!("the provider sent a frame that is not JSON: {shown}");
            (ModelErrorKind::Transport, message)
        } else if json::is_too_deep(error) {
            (ModelErrorKind::Other, TOO_DEEP.to_owned())
        } else {
            let message = format!("the provider sent JSON that cannot be read: {error}");
            (ModelErrorKind::Other, message)
        };
        Self::new(kind, message)
    }

    /// The error that a JSON document reports, whether it is a whole answer or a frame of a stream; `None` if it
    /// reports none.
    ///
    /// Read are `{"error": {"message", "code", "type"}}`, `{"error": "…"}`, `{"type": "error", "error": {…}}`,
    /// `{"object": "error", "message": …}`, `{"detail": …}`, `{"message": …}`, and an array of one of these.
    pub(crate) fn from_body(body: &Value) -> Option<Self> {
        let body = body.as_array().map_or(Some(body), |items| items.first())?;
        let object = body.as_object()?;
        let inner = match object.get("error") {
            None | Some(Value::Null | Value::Bool(_)) => body,
            Some(inner) => inner,
        };
        let message = if let Value::String(text) = inner {
            text.clone()
        } else {
            ["message", "detail", "msg", "error"]
                .iter()
                .filter_map(|field| inner.get(field))
                .map(text_of)
                .find(|text| !text.is_empty())
                .or_else(|| object.get("message").map(text_of))
                .or_else(|| object.contains_key("error").then(|| text_of(inner)))?
        };
        // The message of the provider that a gateway forwards.
        let cause = inner.pointer("/metadata/raw").map(text_of);
        let message = match cause.filter(|cause| !cause.is_empty() && !message.contains(cause)) {
            Some(cause) => format!("{message}: {cause}"),
            None => message,
        };
        let message = with_sizes(inner, message);
        let field = |name| inner.get(name).or_else(|| object.get(name));
        let code = ["code", "type", "status"]
            .into_iter()
            .filter_map(field)
            .map(text_of)
            .find(|code| !code.is_empty() && code != "error");
        // Some report the status in the body of an answer with status 200.
        let status = [field("code"), field("status")]
            .into_iter()
            .flatten()
            .find_map(Value::as_u64)
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (400..600).contains(status));
        let message = words(&message);
        let types = ["code", "type", "status"].into_iter().filter_map(field);
        let types: Vec<_> = types.map(text_of).collect();
        let mut error = Self::new(kind(status, Some(&types.join(" ")), &message), message);
        error.status = status;
        error.code = code;
        error.retry_after_ms = retry_info(inner);
        error.overflow = overflow::facts(inner, &error.message).map(Box::new);
        error.request_id = object
            .get("request_id")
            .and_then(Value::as_str)
            .map(str::to_owned);
        Some(error)
    }

    /// The error in a document that reports one, also if it has no message.
    pub(super) fn reported(body: &Value) -> Self {
        Self::from_body(body).unwrap_or_else(|| {
            let message = "the provider reports an error without a message";
            Self::new(ModelErrorKind::Other, message)
        })
    }

    /// The error without the key.
    #[must_use]
    pub fn redacted(mut self, key: &ApiKey) -> Self {
        let clean = |text: &mut String| *text = key.redact(text).into_owned();
        clean(&mut self.message);
        self.code.iter_mut().for_each(clean);
        self.request_id.iter_mut().for_each(clean);
        self
    }

    /// Adds advice that the provider does not give.
    fn advise(&mut self) {
        let advice = match (self.status, self.kind) {
            (Some(401 | 403), _) => "check the key, and what it may use",
            (Some(404), _) => "check the name of the model, and the base URL",
            _ => return,
        };
        let stop = if self.message.ends_with(['.', '!', '?']) {
            ""
        } else {
            ";"
        };
        self.message = format!("{}{stop} {advice}", self.message);
    }
}

/// The message with the sizes that llama.cpp gives next to it, if they are not in it.
fn with_sizes(inner: &Value, message: String) -> String {
    let size = |name: &str| inner.get(name).and_then(Value::as_u64);
    let (Some(prompt), Some(window)) = (size("n_prompt_tokens"), size("n_ctx")) else {
        return message;
    };
    if message.contains(&window.to_string()) {
        return message;
    }
    format!("{message} ({prompt} tokens, and the context has {window})")
}

impl From<ProviderError> for Delta {
    fn from(error: ProviderError) -> Self {
        Self::Error(error.into())
    }
}

/// The message is that of the error with its status and request id.
impl From<ProviderError> for ModelError {
    fn from(error: ProviderError) -> Self {
        let mut failed = Self::new(error.kind, error.to_string());
        failed.status = error.status;
        failed.code = error.code;
        failed.retry_after_ms = error.retry_after_ms;
        failed.request_id = error.request_id;
        let is_overflow = error.kind == ModelErrorKind::ContextOverflow;
        failed.overflow = error.overflow.filter(|_| is_overflow);
        failed
    }
}

/// Returns the kind of a refusal, by its status, code and message.
pub fn kind(status: Option<u16>, code: Option<&str>, message: &str) -> ModelErrorKind {
    use ModelErrorKind as Kind;
    let code = code.unwrap_or_default().to_ascii_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| code.contains(word));
    if matches!(status, None | Some(400 | 413 | 422 | 500)) && overflows(&code, message) {
        return Kind::ContextOverflow;
    }
    // Waiting does not add credit to an account.
    if is(&["insufficient_quota", "billing", "insufficient_balance"]) {
        return Kind::Other;
    }
    if is(&["content_filter", "content_policy", "contentfilter"]) {
        return Kind::ContentFilter;
    }
    match status {
        Some(401 | 403) => Kind::Authentication,
        Some(429) => Kind::RateLimit,
        Some(408 | 409 | 425 | 500..=599) => Kind::Overloaded,
        Some(402) => Kind::Other,
        Some(300..=499) => Kind::BadRequest,
        _ if is(&["rate_limit", "resource_exhausted", "too_many_requests"]) => Kind::RateLimit,
        _ if is(&["authentication", "permission", "invalid_api_key"]) => Kind::Authentication,
        _ if is(&["overloaded", "server_error", "unavailable"]) => Kind::Overloaded,
        _ if is(&["internal", "api_error", "timeout"]) => Kind::Overloaded,
        _ if is(&["invalid_request", "bad_request", "not_found", "badrequest"]) => Kind::BadRequest,
        _ => Kind::Other,
    }
}

/// Returns whether the conversation is too long for the model. A status alone never says so.
fn overflows(code: &str, message: &str) -> bool {
    const CODES: [&str; 4] = [
        "context_length_exceeded",
        "exceed_context_size",
        "context_window_exceeded",
        "model_context_window_exceeded",
    ];
    /// All words of a row, in any order.
    const WORDS: [&[&str]; 14] = [
        &["context_length_exceeded"],
        &["maximum context length"],
        &["maximum prompt length"],
        &["prompt is too long"],
        &["prompt too long"],
        &["input is too long"],
        &["context length is only"],
        &["longer than the maximum model length"],
        &["context length", "exceed"],
        &["context window", "exceed"],
        &["context size", "exceed"],
        &["exceed context limit"],
        &["input token count", "exceeds the maximum"],
        &["reduce the length of the messages"],
    ];
    let message = message.to_ascii_lowercase();
    // A limit that is too large is a mistake in the request; the conversation may be short.
    if message.contains("max_") && message.contains("tokens' is too large")
        || message.contains("max_tokens is too large")
        || message.contains("max_completion_tokens is too large")
        || message.starts_with("'max_") && message.contains("is too large")
    {
        return false;
    }
    CODES.iter().any(|word| code.contains(word))
        || WORDS
            .iter()
            .any(|words| words.iter().all(|word| message.contains(word)))
}

/// The wait that Google's APIs ask for in the details of an error, in milliseconds.
fn retry_info(error: &Value) -> Option<u64> {
    let mut details = error.get("details")?.as_array()?.iter();
    let delay = details.find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Some(millis(units(delay)?))
}

/// A duration in milliseconds, saturating.
pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Formats a wait.
fn wait(ms: u64) -> String {
    const DAY: u64 = 24 * 60;
    const TWO_DAYS: u64 = 2 * DAY;
    let minutes = (ms / 60_000).max(1);
    match minutes {
        0..120 => format!("{} s", ms.div_ceil(1000)),
        120..TWO_DAYS => format!("{} h {} min", minutes / 60, minutes % 60),
        _ if minutes / DAY < 1000 => format!("{} days", minutes.div_ceil(DAY)),
        _ => "longer than a thousand days".to_owned(),
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// A body, shortened; a web page is named and not shown.
fn words(body: &str) -> String {
    let body = body.trim();
    if is_web_page(body) {
        return "the answer is a web page, not an API's".to_owned();
    }
    match body.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &body[..end]),
        None => body.to_owned(),
    }
}

fn is_web_page(body: &str) -> bool {
    let starts = |word: &str| {
        let start = body.trim_start().get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word))
    };
    starts("<!doctype html") || starts("<html")
}
