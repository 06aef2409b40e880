//! All other providers, through the crate `genai`: Gemini, Bedrock, Vertex, Cohere, xAI, `DeepSeek` and some thirty more.
//!
//! Its replies are checked:
//!
//! - A stream that ends without an end event is [`ModelErrorKind::Truncated`], also if genai makes an end up.
//! - A frame that it cannot read is an error, also if genai would skip it.
//! - The status and the `retry-after` of a refusal are found, however often its error is wrapped.
//! - A server that falls silent is given up after a timeout.
//!
//! Token counts are always requested. Calls and results of gadgets are text, so [`Request::tool_choice`] is not sent.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::convo::prompt_text;
use gadgetry_proto::delta::{ContentMetadata, Delta, StopReason};
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::message::{Media, MediaData, MediaKind, Message, Request, Role};
use gadgetry_proto::usage::Usage;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatStream, ChatStreamEvent, ContentPart,
    MessageContent, ReasoningEffort, StopReason as GenaiStop, StreamEnd, Usage as GenaiUsage,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ServiceTarget};
use reqwest::Url;
use serde_json::Value;

use crate::model::{Model, ModelInfo};
use crate::provider::error::{ProviderError, TOO_DEEP, millis};
use crate::provider::json;
use crate::provider::omitted::{NO_FILES, NO_IMAGES, NO_SOUNDS, media_of, omitted};
use crate::provider::redact::{Redactor, Secrets};
use crate::provider::retry_after::retry_after;
use crate::provider::secret::ApiKey;
use crate::provider::tls;
use crate::provider::wire::{StopSequences, asked_for};

/// A model called through the crate `genai`.
///
/// The name is genai's: `gemini-2.5-flash`, or with the provider, `xai::grok-4`. By default the key comes from the
/// environment variable that genai reads.
///
/// ```
/// use gadgetry::provider::genai::Genai;
/// let model = Genai::builder("gemini::gemini-2.5-flash").max_tokens(1000).build()?;
/// # Ok::<(), gadgetry::provider::ProviderError>(())
/// ```
#[derive(Clone)]
pub struct Genai {
    client: Client,
    model: String,
    name: String,
    options: ChatOptions,
    info: ModelInfo,
    key: Option<ApiKey>,
    base_url: Option<Url>,
}

impl Genai {
    /// A model by its name.
    pub fn builder(model: impl Into<String>) -> GenaiBuilder {
        // A server that is silent this long is dead.
        let silence = Duration::from_mins(5);
        GenaiBuilder {
            model: model.into(),
            name: None,
            options: ChatOptions::default()
                .with_capture_usage(true)
                .with_stream_header_timeout(silence)
                .with_stream_read_timeout(silence),
            info: ModelInfo::default(),
            key: None,
            base_url: None,
            effort: None,
        }
    }
}

/// The builder of a [`Genai`]. Options that are not set are not sent.
#[derive(Clone)]
#[must_use = "`build` makes a model of it"]
pub struct GenaiBuilder {
    model: String,
    name: Option<String>,
    options: ChatOptions,
    info: ModelInfo,
    key: Option<ApiKey>,
    base_url: Option<String>,
    effort: Option<String>,
}

impl GenaiBuilder {
    /// Sets the key; by default the environment's.
    pub fn api_key(mut self, key: impl Into<ApiKey>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the base URL; by default the provider's own.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the name shown to users; by default the model's.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets what is known about the model. Images and audio are sent only to a model that is known to read them.
    pub fn info(mut self, info: ModelInfo) -> Self {
        self.info = info;
        self
    }

    /// Sets the maximum number of tokens in a reply.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.options = self.options.with_max_tokens(tokens);
        self
    }

    /// Sets the sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.options = self.options.with_temperature(temperature);
        self
    }

    /// Sets the reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.effort = Some(effort.into());
        self
    }

    /// Sets the timeout for the headers of an answer, and for each piece of it. 5 minutes by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        let options = self.options.with_stream_header_timeout(timeout);
        self.options = options.with_stream_read_timeout(timeout);
        self
    }

    /// Builds the model.
    ///
    /// # Errors
    ///
    /// If an option is invalid.
    pub fn build(self) -> Result<Genai, ProviderError> {
        let mut options = self.options;
        if let Some(word) = &self.effort {
            let effort = ReasoningEffort::from_keyword(word).ok_or_else(|| {
                let message = format!("invalid reasoning effort {word:?}");
                ProviderError::new(ModelErrorKind::BadRequest, message)
            })?;
            options = options.with_reasoning_effort(effort);
        }
        let (tls, _) = tls::config();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .map_err(|error| ProviderError::new(ModelErrorKind::Transport, error.to_string()))?;
        let mut client = Client::builder().with_reqwest(http);
        if let Some(key) = self.key.clone() {
            client = client
                .with_auth_resolver_fn(move |_| Ok(Some(AuthData::from_single(key.expose()))));
        }
        let base_url = self.base_url.as_deref();
        let base_url = base_url.and_then(|url| Url::parse(url.trim()).ok());
        if let Some(url) = self.base_url {
            client = client.with_service_target_resolver_fn(move |target: ServiceTarget| {
                let endpoint = Endpoint::from_owned(url.as_str());
                Ok(ServiceTarget { endpoint, ..target })
            });
        }
        let client = client
            .build()
            .map_err(|error| failure(&error, &Secrets::default()))?;
        Ok(Genai {
            client,
            name: self.name.unwrap_or_else(|| self.model.clone()),
            model: self.model,
            options,
            info: self.info,
            key: self.key,
            base_url,
        })
    }
}

impl Model for Genai {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let left_out = omitted(&request, |medium| self.leaves_out(medium));
        let this = self.clone();
        let reading = async move {
            let request = this.request(&request);
            let secrets = this.secrets_of_errors();
            let is_lossy = Arc::new(AtomicBool::new(false));
            let seen = Arc::clone(&is_lossy);
            let options = this.options.with_raw_frame_fn(move |context, frame| {
                if is_skipped(context.model_iden.adapter_kind, frame.data) {
                    seen.store(true, Ordering::Relaxed);
                }
            });
            let answer = this
                .client
                .exec_chat_stream(&this.model, request, Some(&options));
            match answer.await {
                Ok(answer) => Reply::Open(Box::new(Reading {
                    events: answer.stream,
                    adapter: answer.model_iden.adapter_kind,
                    is_lossy,
                    secrets,
                })),
                Err(error) => Reply::Failed(failure(&error, &secrets)),
            }
        };
        let mut redactor = Redactor::new(Secrets::of(&self.key, &self.base_url));
        let reply = stream::once(reading).flat_map(|reply| stream::unfold(reply, Reply::next));
        stream::iter(left_out)
            .chain(reply)
            .flat_map(move |delta| {
                let mut seen = Vec::new();
                redactor.push(delta, &mut seen);
                stream::iter(seen)
            })
            .boxed()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> ModelInfo {
        self.info.clone()
    }
}

impl Genai {
    /// The secrets that errors must not show. genai may have found another key in the environment.
    fn secrets_of_errors(&self) -> Secrets {
        let found = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let is_secret = ["_KEY", "_TOKEN", "_SECRET"]
                .iter()
                .any(|end| name.ends_with(end));
            let value = value.into_string().ok().filter(|_| is_secret)?;
            Some(ApiKey::new(value))
        });
        let found: Vec<ApiKey> = found.collect();
        Secrets::of(self.key.iter().chain(&found), &self.base_url)
    }

    fn request(&self, request: &Request) -> ChatRequest {
        let messages = request.all_messages().filter_map(|message| {
            let content = MessageContent::from_parts(self.parts(message));
            (!content.is_empty()).then(|| match message.role {
                Role::System => ChatMessage::system(content),
                Role::User => ChatMessage::user(content),
                Role::Assistant => ChatMessage::assistant(content),
            })
        });
        ChatRequest::new(messages.collect())
    }

    /// The text of a message, then its media.
    fn parts(&self, message: &Message) -> Vec<ContentPart> {
        let mut parts = Vec::new();
        let text = prompt_text(message);
        if !text.trim().is_empty() {
            parts.push(ContentPart::from_text(text));
        }
        for part in &message.content {
            parts.extend(
                media_of(part)
                    .iter()
                    .filter_map(|medium| self.medium(medium)),
            );
        }
        parts
    }

    /// Why a medium is not sent; `None` if it is.
    fn leaves_out(&self, medium: &Media) -> Option<&'static str> {
        match medium.kind {
            MediaKind::Image => (!self.info.reads_images).then_some(NO_IMAGES),
            MediaKind::Audio => (!self.info.reads_audio).then_some(NO_SOUNDS),
            MediaKind::File | _ => Some(NO_FILES),
        }
    }

    fn medium(&self, medium: &Media) -> Option<ContentPart> {
        let is_taken = self.leaves_out(medium).is_none();
        let (mime, name) = (medium.mime_type.as_str(), medium.name.clone());
        is_taken.then(|| match &medium.data {
            MediaData::Base64(data) => ContentPart::from_binary_base64(mime, data.as_str(), name),
            MediaData::Url(url) => ContentPart::from_binary_url(mime, url.as_str(), name),
        })
    }
}

impl fmt::Debug for Genai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Genai")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for GenaiBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenaiBuilder")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// The state of a reply while it is read.
enum Reply {
    Open(Box<Reading>),
    Failed(ProviderError),
    Over,
}

struct Reading {
    events: ChatStream,
    adapter: AdapterKind,
    /// Whether genai has skipped a part of the reply.
    is_lossy: Arc<AtomicBool>,
    secrets: Secrets,
}

impl Reply {
    async fn next(self) -> Option<(Delta, Self)> {
        let mut reading = match self {
            Self::Over => return None,
            Self::Failed(error) => return Some((error.into(), Self::Over)),
            Self::Open(reading) => reading,
        };
        loop {
            let event = reading.events.next().await;
            if reading.is_lossy.load(Ordering::Relaxed) {
                let words = "a part of the reply is not JSON";
                let error = ProviderError::new(ModelErrorKind::Transport, words);
                return Some((error.into(), Self::Over));
            }
            let delta = match event {
                None => return Some((cut().into(), Self::Over)),
                Some(Err(error)) => {
                    let error = failure(&error, &reading.secrets);
                    return Some((error.into(), Self::Over));
                }
                Some(Ok(ChatStreamEvent::End(end))) if is_invented(&end, reading.adapter) => {
                    return Some((cut().into(), Self::Over));
                }
                Some(Ok(ChatStreamEvent::End(end))) => return Some((ended(&end), Self::Over)),
                Some(Ok(ChatStreamEvent::Start)) => Delta::MessageStart { model: None },
                Some(Ok(ChatStreamEvent::Chunk(chunk))) => Delta::text(chunk.content),
                Some(Ok(ChatStreamEvent::ReasoningChunk(chunk))) => Delta::Reasoning {
                    delta: chunk.content,
                    metadata: None,
                },
                Some(Ok(ChatStreamEvent::ThoughtSignatureChunk(chunk))) => {
                    let signature = ("signature".to_owned(), chunk.content.into());
                    let metadata = ContentMetadata {
                        extensions: [signature].into_iter().collect(),
                        ..ContentMetadata::default()
                    };
                    Delta::ReasoningMetadata { metadata }
                }
                // No tools were offered.
                Some(Ok(ChatStreamEvent::ToolCallChunk(chunk))) => Delta::Raw {
                    data: serde_json::to_value(chunk).unwrap_or_default(),
                },
                Some(Ok(ChatStreamEvent::Heartbeat)) => continue,
            };
            return Some((delta, Self::Open(reading)));
        }
    }
}

/// Whether genai skips this frame: some of its adapters log what they cannot parse, and continue.
fn is_skipped(adapter: AdapterKind, frame: &str) -> bool {
    matches!(adapter, AdapterKind::OpenAIResp | AdapterKind::GeminiIx)
        && frame.trim() != "[DONE]"
        && serde_json::from_str::<Value>(frame).is_err()
}

fn cut() -> ProviderError {
    let words = "the stream ended before the reply did";
    ProviderError::new(ModelErrorKind::Truncated, words)
}

/// Whether the server never sent this end: some adapters make one up when a connection closes early. An end that was
/// sent has a stop reason.
fn is_invented(end: &StreamEnd, adapter: AdapterKind) -> bool {
    end.captured_stop_reason.is_none()
        && matches!(
            adapter,
            AdapterKind::Gemini
                | AdapterKind::GeminiIx
                | AdapterKind::OpenAIResp
                | AdapterKind::Vertex
        )
}

fn ended(end: &StreamEnd) -> Delta {
    let stop_reason = match &end.captured_stop_reason {
        None => StopReason::Unspecified,
        Some(GenaiStop::Completed(_)) => StopReason::Stop,
        Some(GenaiStop::MaxTokens(_)) => StopReason::MaxTokens,
        Some(GenaiStop::ToolCall(_)) => StopReason::ToolUse,
        Some(GenaiStop::ContentFilter(_)) => StopReason::ContentFilter,
        // No request has stop sequences.
        Some(GenaiStop::StopSequence(_)) => {
            asked_for(StopReason::StopSequence, StopSequences::None)
        }
        Some(GenaiStop::Other(word)) => StopReason::Other(word.clone()),
    };
    Delta::MessageEnd {
        stop_reason,
        usage: end.captured_usage.as_ref().map(usage),
    }
}

#[allow(
    clippy::needless_update,
    reason = "there may be more counts than these"
)]
fn usage(usage: &GenaiUsage) -> Usage {
    let count = |count: Option<i32>| u64::try_from(count.unwrap_or(0)).unwrap_or(0);
    let input = usage.prompt_tokens_details.as_ref();
    let output = usage.completion_tokens_details.as_ref();
    let (input_tokens, output_tokens) =
        (count(usage.prompt_tokens), count(usage.completion_tokens));
    let total = count(usage.total_tokens);
    Usage {
        input_tokens,
        output_tokens,
        total_tokens: if total == 0 {
            input_tokens + output_tokens
        } else {
            total
        },
        reasoning_tokens: count(output.and_then(|it| it.reasoning_tokens)),
        cached_input_tokens: count(input.and_then(|it| it.cached_tokens)),
        cache_creation_tokens: count(input.and_then(|it| it.cache_creation_tokens)),
        ..Usage::default()
    }
}

/// The error for a failure of genai, without secrets.
fn failure(error: &genai::Error, secrets: &Secrets) -> ProviderError {
    let mut refusal = refusal(error, secrets);
    secrets.clean(&mut refusal.message);
    refusal.code.iter_mut().for_each(|it| secrets.clean(it));
    refusal
        .request_id
        .iter_mut()
        .for_each(|it| secrets.clean(it));
    refusal
}

fn refusal(error: &genai::Error, secrets: &Secrets) -> ProviderError {
    if let genai::Error::WebStream { error: inner, .. } = error {
        if let Some(inner) = inner.downcast_ref::<genai::Error>() {
            return refusal(inner, secrets);
        }
        // The connection broke within the reply.
        if let Some(broken) = inner.downcast_ref::<reqwest::Error>()
            && (broken.is_body() || broken.is_decode())
        {
            return cut();
        }
        let words = inner.to_string();
        return ProviderError::new(ModelErrorKind::Transport, words);
    }
    if let Some(status) = error.status() {
        let mut refusal = ProviderError::refused(status.as_u16(), body(error), secrets);
        let header = |name: &str| error.headers()?.get(name)?.to_str().ok();
        let wait = retry_after(header, SystemTime::now());
        refusal.retry_after_ms = wait.map(millis).or(refusal.retry_after_ms);
        return refusal;
    }
    if let genai::Error::ChatResponse { body, .. } = error
        && let Some(reported) = ProviderError::from_body(body)
    {
        return reported;
    }
    if let genai::Error::StreamParse { serde_error, .. } = error
        && json::is_too_deep(serde_error)
    {
        return ProviderError::new(ModelErrorKind::Other, TOO_DEEP);
    }
    let is = |kind| ProviderError::new(kind, error.to_string());
    if matches!(
        error,
        genai::Error::RequiresApiKey { .. }
            | genai::Error::NoAuthResolver { .. }
            | genai::Error::NoAuthData { .. }
    ) {
        return is(ModelErrorKind::Authentication);
    }
    if matches!(
        error,
        genai::Error::WebModelCall { .. }
            | genai::Error::WebAdapterCall { .. }
            | genai::Error::StreamParse { .. }
    ) {
        return is(ModelErrorKind::Transport);
    }
    is(ModelErrorKind::BadRequest)
}

fn body(error: &genai::Error) -> &str {
    if let genai::Error::HttpError { body, .. } = error {
        return body;
    }
    if let genai::Error::WebModelCall { webc_error, .. }
    | genai::Error::WebAdapterCall { webc_error, .. } = error
        && let genai::webc::Error::ResponseFailedStatus { body, .. } = webc_error
    {
        return body;
    }
    ""
}
