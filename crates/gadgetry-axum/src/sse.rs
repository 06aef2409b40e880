//! A run as the body of a response.

use std::fmt;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use gadgetry::{AgentRun, Conversation, Event};
use gadgetry_gateway::server::event_stream;
use gadgetry_providers::sse;
use tokio::time::timeout;

use crate::runs::{ListedRun, RunExists, Runs};
use crate::ui::UiMessages;

/// Events that are written at once, at most.
const BATCH: usize = 64;

/// The silence after which [`KEEP_ALIVE`] is sent.
pub(crate) const SILENCE: Duration = Duration::from_secs(12);

/// A comment that keeps proxies from closing a silent stream.
pub(crate) const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// The events of a run as server-sent events. It ends with the run.
///
/// A client that leaves, or reads nothing for two minutes, ends the run: its model call and its gadgets are dropped. Nothing runs before
/// the body is read.
///
/// ```
/// use axum::response::IntoResponse as _;
/// use gadgetry::{Agent, ScriptedModel};
/// use gadgetry_axum::Sse;
///
/// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let run = Agent::builder().model(model).ask("What is 2+2?")?;
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # let _guard = runtime.enter();
/// let response = Sse::events(run).into_response();
/// assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a run does nothing until its response is sent"]
pub struct Sse {
    run: AgentRun<'static>,
    form: Form,
    keep_alive: Duration,
    listed: Option<ListedRun>,
    at_end: Option<AtEnd>,
}

type AtEnd = Box<dyn FnOnce(Conversation) + Send>;

#[derive(Debug)]
enum Form {
    Events,
    UiMessages(Box<UiMessages>),
}

impl Sse {
    /// Each event as one message: its JSON as data, and its number as id.
    pub fn events(run: AgentRun<'static>) -> Self {
        Self::new(run, Form::Events)
    }

    /// The UI message stream of the AI SDK (`useChat`), see [`UiMessages`].
    pub fn ui_messages(run: AgentRun<'static>) -> Self {
        Self::new(run, Form::UiMessages(Box::default()))
    }

    fn new(run: AgentRun<'static>, form: Form) -> Self {
        Self {
            run,
            form,
            keep_alive: SILENCE,
            listed: None,
            at_end: None,
        }
    }

    /// Lists the run under `id` as long as the stream lives, so that its approvals can be answered over HTTP.
    ///
    /// # Errors
    ///
    /// [`RunExists`] if the id is taken.
    pub fn listed_in(mut self, runs: &Runs, id: impl Into<String>) -> Result<Self, RunExists> {
        self.listed = Some(runs.list(id, self.run.handle())?);
        Ok(self)
    }

    /// Calls `keep` with the conversation when the run has ended, so that the next question can continue it. A client that leaves
    /// before ends the run, and the conversation stays as it was.
    pub fn at_end(mut self, keep: impl FnOnce(Conversation) + Send + 'static) -> Self {
        self.at_end = Some(Box::new(keep));
        self
    }

    /// Sets the silence after which a comment is sent; 12 seconds by default.
    pub fn keep_alive(mut self, silence: Duration) -> Self {
        self.keep_alive = silence;
        self
    }

    /// The next bytes; `None` after the last ones.
    async fn next(&mut self) -> Option<Bytes> {
        let mut text = String::new();
        // An event may have no part, and an empty chunk would say nothing.
        while text.is_empty() {
            let Ok(first) = timeout(self.keep_alive, self.run.next()).await else {
                return Some(KEEP_ALIVE);
            };
            let Some(first) = first else {
                self.keep();
                return None;
            };
            self.write(&first, &mut text);
        }
        // What is there already is one write.
        for _ in 1..BATCH {
            let Some(Some(event)) = self.run.next().now_or_never() else {
                break;
            };
            self.write(&event, &mut text);
        }
        Some(text.into())
    }

    fn keep(&mut self) {
        if let (Some(keep), Some(finished)) = (self.at_end.take(), self.run.finished()) {
            keep(finished.into());
        }
    }

    fn write(&mut self, event: &Event, out: &mut String) {
        match &mut self.form {
            Form::Events => {
                let data = serde_json::to_string(event).unwrap_or_default();
                let mut message = sse::SseEvent::data(data);
                // The numbers of a run's own stream.
                message.id = Some(event.seq.to_string());
                message.encode(out);
            }
            Form::UiMessages(messages) => {
                for part in messages.parts(event) {
                    sse::SseEvent::data(part.to_string()).encode(out);
                }
            }
        }
    }
}

impl fmt::Debug for Sse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sse")
            .field("run", &self.run)
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

impl IntoResponse for Sse {
    fn into_response(self) -> Response {
        let mut headers = HeaderMap::new();
        let last = match &self.form {
            Form::Events => None,
            Form::UiMessages(_) => {
                let version = HeaderName::from_static("x-vercel-ai-ui-message-stream");
                headers.insert(version, HeaderValue::from_static("v1"));
                Some(Bytes::from_static(b"data: [DONE]\n\n"))
            }
        };
        let parts = stream::unfold(Box::new(self), |mut stream| async move {
            let bytes = stream.next().await?;
            Some((bytes, stream))
        });
        event_stream(headers, parts.chain(stream::iter(last)))
    }
}
