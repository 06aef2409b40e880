//! Requests to upstreams in addition to those of clients: tests of native calls, and lists of models.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelError;
use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::ModelOptions;
use serde_json::json;

use super::Gateway;
use crate::memory::Owner;
use crate::settings::Settings;
use crate::upstream::Upstream;

/// Maximum time of a probe.
const TIMEOUT: Duration = Duration::from_mins(2);

/// Maximum bytes of the arguments that a probe reads.
const REPLY: usize = 64 << 10;

/// Maximum number of listed models.
const MODELS: usize = 10_000;

/// The argument that the probe demands.
const WORD: &str = "ready";

impl Gateway {
    /// Returns `true` if a model calls tools natively, according to a probe at the first call. A failed probe is inconclusive, so
    /// the next request sends another.
    pub(super) async fn is_native(&self, upstream: &Arc<Upstream>, model: &str) -> bool {
        let owner = Owner::of("upstream", upstream.name().as_bytes());
        let known = || self.0.native.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known().get(owner, model.to_owned()) {
            return *known;
        }
        let Ok(Some(is_native)) = tokio::time::timeout(TIMEOUT, probe(upstream, model)).await
        else {
            return false;
        };
        tracing::info!(upstream = upstream.name(), model, is_native, "probed");
        known().keep(owner, model.to_owned(), is_native, model.len());
        is_native
    }
}

/// Returns `true` if the model calls a tool when the prompt demands it; `None` if it cannot be reached.
async fn probe(upstream: &Upstream, model: &str) -> Option<bool> {
    let options = ModelOptions {
        max_tokens: Some(1_000),
        ..ModelOptions::default()
    };
    let model = upstream.model(model, options).ok()?;
    let schema = json!({
        "type": "object",
        "properties": {"word": {"type": "string"}, "times": {"type": "integer"}},
        "required": ["word", "times"],
    });
    let tool = GadgetSpec::new("report_word", "Reports a word").parameters(schema);
    let model = model.with_tools(&[tool])?;
    let prompt = format!("Call the tool report_word with the word {WORD:?} and times 3.");
    let request = Request::default()
        .messages(vec![Message::text(Role::User, prompt)])
        .iteration(1);
    let mut deltas = model.stream(request);
    let mut json = String::new();
    let mut is_called = false;
    while let Some(delta) = deltas.next().await {
        match delta {
            Delta::ToolCallStart { name, .. } => is_called |= name == "report_word",
            Delta::ToolCallDelta { delta, .. } if json.len() + delta.len() <= REPLY => {
                json.push_str(&delta);
            }
            Delta::ToolCallDelta { .. } => return None,
            Delta::ToolCallEnd {
                input: Some(input), ..
            } => json = input.to_string(),
            Delta::ToolCall { name, input, .. } => {
                is_called |= name == "report_word";
                json = input.to_string();
            }
            Delta::Error(ModelError { kind, .. }) => {
                use gadgetry_proto::error::ModelErrorKind as Kind;
                // A server without tools refuses the request.
                return (kind == Kind::BadRequest).then_some(false);
            }
            _ => {}
        }
    }
    let input: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
    Some(is_called && input["word"] == WORD && input["times"] == 3)
}

/// Returns the models that clients can name: those of the routes, or else those of the upstreams.
pub(super) async fn models(settings: &Settings) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut known = HashSet::new();
    let mut add = |name: String| {
        if names.len() < MODELS && known.insert(name.clone()) {
            names.push(name);
        }
    };
    for route in &settings.routes {
        if !route.name.ends_with('*') {
            add(route.name.clone());
        }
    }
    if settings.routes.is_empty() {
        for upstream in &settings.upstreams {
            match upstream.fixed_model() {
                Some(name) => add(name.to_owned()),
                None => upstream.models().await.into_iter().for_each(&mut add),
            }
        }
    }
    names
}
