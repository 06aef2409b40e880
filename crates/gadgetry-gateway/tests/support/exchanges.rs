//! Exchanges without a network: a request, and what the model writes.

use std::sync::Arc;

use gadgetry_gateway::exchange::{
    ClientRequest, Exchange, ExchangeStep, HeldCalls, ModelRules, PreparedRequest, Secrets, Setup,
    Toolset,
};
use gadgetry_gateway::{ClientApi, Owner};
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::ModelError;
use gadgetry_proto::message::Request;
use serde_json::{Value, json};

/// A client of one gateway, before a model whose replies the test writes.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) api: ClientApi,
    pub(crate) rules: ModelRules,
    pub(crate) is_native: bool,
    pub(crate) owner: Option<Owner>,
    pub(crate) reply_bytes: usize,
    held: Arc<HeldCalls>,
}

/// A reply as the client has received it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Received {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    /// Names and parameters.
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) ids: Vec<String>,
    pub(crate) stop_reason: Option<StopReason>,
    pub(crate) error: Option<String>,
    /// The arguments of a call that is sent in parts, until its end.
    pub(crate) open: Option<String>,
}

impl Received {
    pub(crate) fn of(deltas: &[Delta]) -> Self {
        let mut received = Self::default();
        for delta in deltas {
            match delta {
                Delta::Text { delta, .. } => received.text.push_str(delta),
                Delta::Reasoning { delta, .. } => received.reasoning.push_str(delta),
                Delta::ToolCall { id, name, input } => {
                    received.ids.push(id.clone());
                    received.calls.push((name.clone(), input.clone()));
                }
                Delta::ToolCallStart { id, .. } => {
                    received.ids.push(id.clone());
                    assert_eq!(received.open.replace(String::new()), None);
                }
                Delta::ToolCallDelta { delta, .. } => {
                    let json = received.open.as_mut().expect("the call has begun");
                    json.push_str(delta);
                }
                Delta::ToolCallEnd { input, .. } => {
                    let json = received.open.take().expect("the call has begun");
                    let read: Value = serde_json::from_str(&json).expect("JSON");
                    assert_eq!(*input, None, "the text has more digits");
                    received.calls.push(("in parts".to_owned(), read));
                }
                Delta::MessageEnd { stop_reason, .. } => {
                    assert_eq!(received.stop_reason, None, "a reply ends once");
                    received.stop_reason = Some(stop_reason.clone());
                }
                Delta::Error(ModelError { message: error, .. }) => {
                    received.error = Some(error.clone());
                }
                _ => {}
            }
        }
        received
    }
}

impl Client {
    pub(crate) fn new(api: ClientApi) -> Self {
        Self {
            api,
            rules: ModelRules::default(),
            is_native: false,
            owner: Some(Owner::of("key", b"client")),
            reply_bytes: 16 << 20,
            held: Arc::default(),
        }
    }

    /// The secrets of its prompts.
    pub(crate) fn secrets(&self) -> Secrets {
        Secrets::new(self.rules.markers, 7)
    }

    /// An exchange for a body.
    pub(crate) fn exchange(&self, body: Value, number: u64) -> Exchange {
        let request = self.api.decode(body).expect("a valid request");
        self.exchange_of(request, number)
    }

    pub(crate) fn exchange_of(&self, request: ClientRequest, number: u64) -> Exchange {
        let tools = Toolset::new(request.tools.clone());
        let tools = Arc::new(tools.expect("the schemas are valid"));
        self.exchange_with(request, tools, number)
    }

    /// An exchange with tools that are compiled.
    pub(crate) fn exchange_with(
        &self,
        request: ClientRequest,
        tools: Arc<Toolset>,
        number: u64,
    ) -> Exchange {
        let request = Arc::new(PreparedRequest {
            tools,
            client: Arc::new(request),
            secrets: self.secrets(),
            id_prefix: self.api.call_prefix(),
            owner: self.owner,
            held: Arc::clone(&self.held),
            reply_bytes: self.reply_bytes,
        });
        let setup = Setup {
            request,
            id: number.into(),
            rules: Arc::new(self.rules.clone()),
            is_native: self.is_native,
            constraint: None,
        };
        Exchange::new(setup).expect("valid rules")
    }

    /// What is received for a body if the model writes these replies, `{S}`, `{A}` and `{E}` being markers.
    pub(crate) fn receive(&self, body: Value, replies: &[&str]) -> Received {
        let mut exchange = self.exchange(body, 1);
        let mut out = Vec::new();
        for (at, reply) in replies.iter().enumerate() {
            let progress = feed(&mut exchange, &self.written(reply), usize::MAX, &mut out);
            match progress {
                ExchangeStep::Again(_) if at + 1 < replies.len() => {}
                ExchangeStep::Done if at + 1 == replies.len() => {}
                other => panic!("after reply {at}: {other:?}"),
            }
        }
        Received::of(&out)
    }

    /// A reply with the markers of the prompt.
    pub(crate) fn written(&self, reply: &str) -> String {
        let markers = self.secrets().markers;
        reply
            .replace("{S}", markers.start())
            .replace("{A}", markers.arg())
            .replace("{E}", markers.end())
    }
}

/// Feeds a whole reply in pieces of at most `size` characters.
pub(crate) fn feed(
    exchange: &mut Exchange,
    text: &str,
    size: usize,
    out: &mut Vec<Delta>,
) -> ExchangeStep {
    exchange.push(Delta::MessageStart { model: None }, out);
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(size.clamp(1, chars.len().max(1))) {
        let piece: String = piece.iter().collect();
        let progress = exchange.push(Delta::text(piece), out);
        if progress != ExchangeStep::More {
            return progress;
        }
    }
    end(exchange, StopReason::Stop, out)
}

/// Ends a reply.
pub(crate) fn end(
    exchange: &mut Exchange,
    stop_reason: StopReason,
    out: &mut Vec<Delta>,
) -> ExchangeStep {
    let usage = None;
    exchange.push(Delta::MessageEnd { stop_reason, usage }, out)
}

/// The text of each message of a request, with its role.
pub(crate) fn texts(request: &Request) -> Vec<String> {
    let text = |message: &gadgetry_proto::message::Message| {
        let role = format!("{:?}", message.role).to_lowercase();
        let text = gadgetry_proto::convo::prompt_text(message);
        format!("{role}: {text}")
    };
    request.all_messages().map(text).collect()
}

/// A tool of Chat Completions.
#[expect(
    clippy::needless_pass_by_value,
    reason = "callers write the schema in place"
)]
pub(crate) fn tool(name: &str, parameters: Value) -> Value {
    json!({"type": "function", "function": {"name": name, "description": "", "parameters": parameters}})
}

/// Weather of a city, and the sum of two numbers.
pub(crate) fn tools() -> Value {
    let city =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let sum = json!({
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    });
    json!([tool("weather", city), tool("sum", sum)])
}

/// A request of one message with these tools.
pub(crate) fn ask(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}], "tools": tools()})
}
