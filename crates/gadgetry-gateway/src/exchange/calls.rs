//! Calls of the model that the client receives, now or after its next request.

use std::collections::HashSet;
use std::mem;

use gadgetry_proto::call::Call;
use gadgetry_proto::delta::Delta;
use serde_json::Value;

use super::call_ids::CallIds;
use super::held::HeldCall;
use super::request::{Input, Tool};

/// A call that the client has.
#[derive(Debug)]
struct SentCall {
    /// The name in blocks.
    name: String,
    input: Input,
}

/// The calls of an exchange, over all replies of the upstream.
#[derive(Debug)]
pub(super) struct CallsOut {
    ids: CallIds,
    sent: Vec<SentCall>,
    /// The model's ids of the calls sent.
    sent_ids: HashSet<String>,
    /// Calls that wait for others.
    held: Vec<HeldCall>,
    /// The model's ids of the calls held.
    held_ids: HashSet<String>,
}

impl CallsOut {
    /// Begins without calls. Ids begin with `prefix`, and contain the id of the exchange.
    pub(super) fn new(prefix: &'static str, exchange: u128) -> Self {
        Self {
            ids: CallIds::new(prefix, exchange),
            sent: Vec::new(),
            sent_ids: HashSet::new(),
            held: Vec::new(),
            held_ids: HashSet::new(),
        }
    }

    /// Returns `true` if the client has no calls.
    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// Returns `true` if the client has this call. A model that corrects one call often repeats the others.
    pub(super) fn has(&self, name: &str, input: &Input) -> bool {
        let is_same = |call: &SentCall| call.name == name && call.input == *input;
        self.sent.iter().any(is_same)
    }

    /// Returns the deltas of a call, and counts it as sent. `name` is the name in blocks. They are text if numbers have to keep
    /// their digits.
    pub(super) fn send(
        &mut self,
        model_id: String,
        name: &str,
        tool: &Tool,
        input: Input,
    ) -> Vec<Delta> {
        let id = self.ids.for_client(&model_id);
        let (value, digits) = &input;
        let deltas = if digits.is_empty() {
            vec![Delta::ToolCall {
                id,
                name: tool.full_name(),
                input: value.clone(),
            }]
        } else {
            vec![
                Delta::ToolCallStart {
                    id: id.clone(),
                    name: tool.full_name(),
                },
                Delta::ToolCallDelta {
                    id: id.clone(),
                    delta: digits.json(value),
                },
                Delta::ToolCallEnd { id, input: None },
            ]
        };
        self.sent.push(SentCall {
            name: name.to_owned(),
            input,
        });
        self.sent_ids.insert(model_id);
        deltas
    }

    /// Keeps a call until its dependencies have results. Fails, with a text for the model, if one of them is not a call of the
    /// client.
    pub(super) fn hold(&mut self, call: &Call, tool: &Tool, input: Value) -> Result<(), String> {
        let dependencies = call.dependencies.iter().map(|it| it.as_str().to_owned());
        let dependencies: Vec<String> = dependencies.collect();
        let is_written = |id: &String| self.sent_ids.contains(id) || self.held_ids.contains(id);
        if let Some(missing) = dependencies.iter().find(|id| !is_written(id)) {
            return Err(format!(
                "it depends on {missing}, which no valid call before it in this reply has as its id; write the values themselves"
            ));
        }
        let id = call.invocation_id.as_str().to_owned();
        self.held_ids.insert(id.clone());
        self.held.push(HeldCall {
            id,
            name: tool.full_name(),
            dependencies,
            input,
            digits: call.digits.clone(),
        });
        Ok(())
    }

    /// Takes the calls that wait for calls of the client, with the id of the exchange; none if they wait only for each other.
    pub(super) fn take_held(&mut self) -> (u128, Vec<HeldCall>) {
        let is_sent = |id: &String| self.sent_ids.contains(id);
        let mut held = mem::take(&mut self.held);
        self.held_ids.clear();
        if !held
            .iter()
            .any(|call| call.dependencies.iter().any(is_sent))
        {
            held.clear();
        }
        (self.ids.exchange(), held)
    }
}
