//! What the tests ask with: both backends, an agent with gadgets, and what a run left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use gadgetry::{Agent, AgentBuilder, Finished, Model, RunError, from_fn};
use gadgetry_proto::call::Outcome;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::event::EventKind;
use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_proto::run::Retry;
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_proto::usage::Usage;
use gadgetry_providers::{Anthropic, HttpConfig, OpenAi, OpenAiResponses};
use serde_json::json;

/// The APIs that we speak.
pub(crate) const APIS: [Api; 3] = [Api::Chat, Api::Messages, Api::Responses];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Messages,
    Responses,
}

/// A key that looks like one.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// A model of a server whose API begins at `base`.
pub(crate) fn model(api: Api, base: String, idle: Duration) -> Arc<dyn Model> {
    let http = HttpConfig::new().idle_timeout(idle);
    match api {
        Api::Chat => {
            let model = OpenAi::builder("gpt-4o")
                .base_url(base)
                .api_key(KEY)
                .http(http);
            Arc::new(model.build().expect("it is well formed"))
        }
        Api::Messages => {
            let model = Anthropic::builder("claude-sonnet-4-5")
                .base_url(base)
                .api_key(KEY)
                .http(http);
            Arc::new(model.build().expect("it is well formed"))
        }
        Api::Responses => {
            let model = OpenAiResponses::builder("gpt-4o")
                .base_url(base)
                .api_key(KEY)
                .http(http);
            Arc::new(model.build().expect("it is well formed"))
        }
    }
}

/// The reply to one question, without an agent.
pub(crate) async fn deltas(model: &Arc<dyn Model>, question: &str) -> Vec<Delta> {
    let request = Request::default().messages(vec![Message::text(Role::User, question)]);
    model.stream(request).collect().await
}

/// The text of some deltas.
pub(crate) fn text(deltas: &[Delta]) -> String {
    let text = deltas.iter().map(|delta| match delta {
        Delta::Text { delta, .. } => delta.as_str(),
        _ => "",
    });
    text.collect()
}

/// How a reply failed.
pub(crate) fn error(deltas: &[Delta]) -> Option<ModelErrorKind> {
    match deltas.last()? {
        Delta::Error(ModelError { kind, .. }) => Some(*kind),
        _ => None,
    }
}

/// An agent that can fetch and count, and comes back soon after a failure.
pub(crate) fn agent(model: Arc<dyn Model>) -> AgentBuilder {
    let spec = |name: &str, parameter: &str| GadgetSpec {
        name: name.to_owned(),
        description: format!("{name}es what is given"),
        parameters: json!({
            "type": "object",
            "properties": { parameter: { "type": "string" } },
            "required": [parameter],
        }),
        ..GadgetSpec::default()
    };
    let fetch = from_fn(spec("Fetch", "url"), |given, _| async move {
        let url = given["url"].as_str().unwrap_or_default();
        Outcome::ok(format!("[17, 23, 42] from {url}"))
    });
    let count = from_fn(spec("Count", "list"), |given, _| async move {
        let list = given["list"].as_str().unwrap_or_default();
        Outcome::ok(format!("{} entries", list.matches(',').count() + 1))
    });
    Agent::builder()
        .model(model)
        .gadget(fetch)
        .gadget(count)
        .retry(Retry {
            min_ms: 100,
            ..Retry::default()
        })
}

/// A run, and what it told about its model calls.
pub(crate) struct Told {
    pub(crate) finished: Result<Finished, RunError>,
    /// Of all model calls.
    pub(crate) usage: Usage,
    /// Retries: why, and after how many milliseconds.
    pub(crate) retries: Vec<(ModelErrorKind, u64)>,
    pub(crate) text: String,
    /// Names of the gadgets that were done, in order.
    pub(crate) gadgets: Vec<String>,
    pub(crate) took: Duration,
}

impl Told {
    /// The answer of a run that came to one.
    #[track_caller]
    pub(crate) fn answer(&self) -> &str {
        match &self.finished {
            Ok(finished) => &finished.summary.answer,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Asks, and sees the run to its end.
pub(crate) async fn ask(agent: AgentBuilder, question: &str) -> Told {
    let (mut usage, mut retries) = (Usage::default(), Vec::new());
    let (mut text, mut gadgets) = (String::new(), Vec::new());
    let began = Instant::now();
    let run = agent.ask(question).expect("the agent is well formed");
    let finished = run
        .on_event(|event| match &event.kind {
            EventKind::ModelCallEnd { usage: more, .. } => usage = usage.plus(*more),
            EventKind::ModelRetry {
                error, delay_ms, ..
            } => retries.push((error.kind, *delay_ms)),
            EventKind::Text { text: more } => text += more,
            EventKind::GadgetResult { gadget_name, .. } => gadgets.push(gadget_name.clone()),
            _ => {}
        })
        .await;
    Told {
        finished,
        usage,
        retries,
        text,
        gadgets,
        took: began.elapsed(),
    }
}
