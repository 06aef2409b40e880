//! A model that writes what it is given at the speed of a hosted one, in virtual time, and counts what it reads and writes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::Model;
use gadgetry::proto::convo::TokenEstimate;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::message::{Message, Request};
use gadgetry::proto::schema::GadgetSpec;
use serde_json::json;

/// From a request to its first token, and for each token after it.
pub(crate) const FIRST_TOKEN: Duration = Duration::from_millis(500);
pub(crate) const TOKENS_A_SECOND: u32 = 60;

/// Bytes for a token, as [`TokenEstimate`] has it.
const BYTES: usize = 4;

/// A part of a reply.
#[derive(Clone)]
pub(crate) enum Part {
    Text(String),
    /// A call through the provider's interface.
    Call {
        id: &'static str,
        name: &'static str,
        /// JSON text.
        input: String,
    },
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) requests: u64,
    pub(crate) input: u64,
    pub(crate) output: u64,
}

#[derive(Clone)]
pub(crate) struct Metered {
    replies: Arc<Mutex<std::vec::IntoIter<Vec<Part>>>>,
    counts: Arc<Mutex<Counts>>,
    /// Tokens of the tools that every request has.
    tools: u64,
}

impl Metered {
    pub(crate) fn new(replies: Vec<Vec<Part>>) -> Self {
        Self {
            replies: Arc::new(Mutex::new(replies.into_iter())),
            counts: Arc::default(),
            tools: 0,
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tokens(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES) as u64
}

impl Model for Metered {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        let messages: Vec<Message> = request.all_messages().cloned().collect();
        let reply = self
            .replies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next();
        let reply = reply.expect("the run is over after the last reply");
        let mut deltas: Vec<Delta> = reply.iter().flat_map(Part::deltas).collect();
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.requests += 1;
        counts.input += TokenEstimate::of(&messages).tokens() + self.tools;
        counts.output += reply.iter().map(Part::tokens).sum::<u64>();
        deltas.push(Delta::MessageEnd {
            stop_reason: StopReason::Stop,
            usage: None,
        });
        let first = stream::once(tokio::time::sleep(FIRST_TOKEN)).filter_map(|()| async { None });
        let rest = stream::iter(deltas).then(|delta| async {
            tokio::time::sleep(Duration::from_secs(1) / TOKENS_A_SECOND).await;
            delta
        });
        first.chain(rest).boxed()
    }

    fn name(&self) -> &'static str {
        "metered"
    }

    fn with_tools(&self, gadgets: &[GadgetSpec]) -> Option<Arc<dyn Model>> {
        let tools = gadgets.iter().map(|spec| {
            let function = json!({
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
            });
            let tool = json!({ "type": "function", "function": function });
            tokens(tool.to_string().len())
        });
        Some(Arc::new(Self {
            tools: tools.sum(),
            ..self.clone()
        }))
    }
}

impl Part {
    /// The tokens that the model writes for it.
    fn tokens(&self) -> u64 {
        match self {
            Self::Text(text) => tokens(text.len()),
            Self::Call { name, input, .. } => tokens(name.len()) + tokens(input.len()),
        }
    }

    fn deltas(&self) -> Vec<Delta> {
        match self {
            Self::Text(text) => pieces(text)
                .map(|delta| Delta::Text {
                    delta,
                    metadata: None,
                })
                .collect(),
            Self::Call { id, name, input } => {
                let id = (*id).to_owned();
                let mut deltas = vec![Delta::ToolCallStart {
                    id: id.clone(),
                    name: (*name).to_owned(),
                }];
                deltas.extend(pieces(input).map(|delta| Delta::ToolCallDelta {
                    id: id.clone(),
                    delta,
                }));
                deltas.push(Delta::ToolCallEnd { id, input: None });
                deltas
            }
        }
    }
}

/// A text of ASCII in tokens.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    assert!(text.is_ascii(), "{text:?} is cut at bytes");
    text.as_bytes()
        .chunks(BYTES)
        .map(|piece| String::from_utf8_lossy(piece).into_owned())
}
