//! Caps on sums: what one reply, and the run, have used of each.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, Parameters};
use crate::delta::{Delta, StopReason};
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::event::EventKind;
use crate::limits::{Limit, LimitExceeded, Limits};
use crate::run::Run;
use crate::run::io::{Close, Output};
use crate::run::state::Phase;
use crate::spec::count;

/// What a block takes besides its text: its place in the message, its events.
const BLOCK: usize = 512;

/// Room below which no gadget is started: an error has to fit.
const LEAST_ROOM: usize = 4 << 10;

/// What is used of [`crate::limits::Limits`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Used {
    /// Bytes of the reply.
    reply: usize,
    /// Whether the reply was cut because of them.
    pub(super) is_full: bool,
    /// Whether the last delta was reasoning.
    reasoning: bool,
    /// Calls that began through the provider's own interface.
    native: usize,
    /// Calls that are not kept because the reply has too many.
    pub(super) surplus: u32,
    json_values: usize,
    references: usize,
    /// Bytes of the results of the run.
    results: usize,
}

impl Used {
    /// A new reply begins.
    pub(super) fn begin_reply(&mut self) {
        let results = self.results;
        *self = Self {
            results,
            ..Self::default()
        };
    }

    fn take_values(&mut self, parameters: &Value, limits: &Limits) -> Result<(), LimitExceeded> {
        let total = self.json_values.saturating_add(count(parameters));
        if total > limits.json_values {
            return Err(LimitExceeded {
                what: Limit::JsonValues,
                limit: limits.json_values,
            });
        }
        self.json_values = total;
        Ok(())
    }

    /// Bytes of results that may still be put into the parameters of this reply.
    pub(super) fn room_for_references(&self, limits: &Limits) -> usize {
        limits.references.saturating_sub(self.references)
    }

    /// Counts what was put into the parameters of a call.
    pub(super) fn take_references(
        &mut self,
        bytes: usize,
        parameters: &Value,
        limits: &Limits,
    ) -> Result<(), String> {
        self.references = self.references.saturating_add(bytes);
        let taken = self.take_values(parameters, limits);
        taken.map_err(|exceeded| format!("Error: {exceeded}"))
    }
}

impl Run {
    /// Counts a delta. What goes beyond the cap is taken off; `None` if nothing is left of it.
    pub(super) fn count_in(&mut self, mut delta: Delta) -> Option<Delta> {
        let used = &mut self.state.used;
        if used.is_full {
            return None;
        }
        let room = self.spec.limits.reply.saturating_sub(used.reply);
        let is_reasoning = matches!(delta, Delta::Reasoning { .. });
        let mut size = size(&delta);
        if is_reasoning != used.reasoning && size > 0 {
            used.reasoning = is_reasoning;
            size += BLOCK;
        }
        used.reply = used.reply.saturating_add(size);
        if size <= room {
            return Some(delta);
        }
        used.is_full = true;
        match &mut delta {
            Delta::Text { delta: text, .. } | Delta::Reasoning { delta: text, .. } => {
                text.truncate(text.floor_char_boundary(room));
                Some(delta)
            }
            Delta::MessageStart { .. }
            | Delta::MessageEnd { .. }
            | Delta::Usage { .. }
            | Delta::Error { .. }
            | Delta::Raw { .. }
            | Delta::Diagnostic(_)
            | Delta::ContentMetadata { .. }
            | Delta::ReasoningMetadata { .. }
            | Delta::ProviderData(_)
            | Delta::ToolCallStart { .. }
            | Delta::ToolCallDelta { .. }
            | Delta::ToolCallEnd { .. }
            | Delta::ToolCall { .. }
            | Delta::CustomBlockStart(_)
            | Delta::CustomBlockDelta(_)
            | Delta::CustomBlockEnd(_)
            | Delta::CustomBlock(_)
            | Delta::GadgetCallStart(_)
            | Delta::GadgetArgsPartial(_)
            | Delta::GadgetCall(_) => None,
        }
    }

    /// Counts what a block takes that was found in the text.
    pub(super) fn count_block(&mut self) {
        let used = &mut self.state.used;
        used.reply = used.reply.saturating_add(BLOCK);
        used.is_full |= used.reply > self.spec.limits.reply;
    }

    /// If the reply has become too long, it ends here, as if the model had come to its token limit.
    pub(super) fn cut_if_full(&mut self) {
        if !self.state.used.is_full || self.state.phase != Phase::Reading {
            return;
        }
        self.put(Output::CloseModel);
        self.diagnose(Limit::Reply, self.spec.limits.reply);
        self.state.accumulator.absorb(&Delta::MessageEnd {
            stop_reason: StopReason::MaxTokens,
            usage: None,
        });
        self.close_reply(Close::Ended);
    }

    /// Whether a part of a call belongs to one call too many. Such calls are counted, and nothing else is kept of them.
    pub(super) fn is_surplus(&mut self, delta: &Delta) -> bool {
        let cap = self.spec.limits.calls_per_reply;
        let (is_surplus, is_new) = match delta {
            Delta::GadgetCall(_) => (self.state.calls.len() >= cap, true),
            Delta::GadgetCallStart(_) | Delta::GadgetArgsPartial { .. } => {
                (self.state.calls.len() >= cap, false)
            }
            Delta::ToolCallStart { .. } | Delta::ToolCall { .. } => {
                self.state.used.native += 1;
                (self.state.used.native > cap, true)
            }
            Delta::Text { .. }
            | Delta::Reasoning { .. }
            | Delta::MessageStart { .. }
            | Delta::MessageEnd { .. }
            | Delta::Usage { .. }
            | Delta::Error { .. }
            | Delta::Raw { .. }
            | Delta::Diagnostic(_)
            | Delta::ContentMetadata { .. }
            | Delta::ReasoningMetadata { .. }
            | Delta::ProviderData(_)
            | Delta::ToolCallDelta { .. }
            | Delta::ToolCallEnd { .. }
            | Delta::CustomBlockStart(_)
            | Delta::CustomBlockDelta(_)
            | Delta::CustomBlockEnd(_)
            | Delta::CustomBlock(_) => (false, false),
        };
        if is_surplus && is_new {
            self.state.used.surplus = self.state.used.surplus.saturating_add(1);
            if self.state.used.surplus == 1 {
                self.diagnose(Limit::CallsPerReply, cap);
            }
        }
        is_surplus
    }

    /// What the model reads of the calls that are not kept.
    pub(super) fn surplus_note(&self) -> Option<String> {
        let surplus = self.state.used.surplus;
        let exceeded = LimitExceeded {
            what: Limit::CallsPerReply,
            limit: self.spec.limits.calls_per_reply,
        };
        let calls = if surplus == 1 {
            "call was"
        } else {
            "calls were"
        };
        (surplus > 0).then(|| format!("Error: {surplus} further {calls} not executed. {exceeded}"))
    }

    /// The call, or what is answered to it if the parameters of the reply have become too many.
    pub(super) fn within_values(&mut self, call: Arc<Call>) -> Arc<Call> {
        let Parameters::Parsed(parameters) = &call.parameters else {
            return call;
        };
        let taken = self.state.used.take_values(parameters, &self.spec.limits);
        let Err(exceeded) = taken else {
            return call;
        };
        let mut call = Arc::unwrap_or_clone(call);
        call.parameters = Parameters::Malformed(exceeded.to_string());
        Arc::new(call)
    }

    /// Whether the run has room for one more result; otherwise, in words for the model, why the call is not executed.
    pub(super) fn room_for_result(&self) -> Result<(), String> {
        let limit = self.spec.limits.results;
        if self
            .state
            .used
            .results
            .saturating_add(LEAST_ROOM.min(limit))
            <= limit
        {
            return Ok(());
        }
        let what = Limit::Results;
        let exceeded = LimitExceeded { what, limit };
        Err(format!("Error: The call was not executed. {exceeded}"))
    }

    /// Counts a result. One that is too long is replaced by what is wrong with it.
    pub(super) fn take_result(&mut self, result: Result<String, String>) -> Result<String, String> {
        let (Ok(text) | Err(text)) = &result;
        let limit = self.spec.limits.results;
        let total = self.state.used.results.saturating_add(text.len());
        if total <= limit {
            self.state.used.results = total;
            return result;
        }
        let what = Limit::Results;
        let exceeded = LimitExceeded { what, limit };
        Err(format!(
            "Error: The gadget ran, but its result of {} bytes was dropped. {exceeded}",
            text.len()
        ))
    }

    fn diagnose(&mut self, what: Limit, limit: usize) {
        let at = self.state.raw.len() as u64;
        self.tell(EventKind::Diagnostic(Diagnostic {
            code: DiagnosticCode::LimitExceeded,
            message: LimitExceeded { what, limit }.to_string(),
            span: Span { start: at, end: at },
        }));
    }
}

/// What a delta adds to what is kept of a reply.
fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text { delta, metadata } | Delta::Reasoning { delta, metadata } => {
            delta.len()
                + metadata
                    .as_ref()
                    .map_or(0, |it| BLOCK + json_size(&it.extensions))
        }
        Delta::ToolCallDelta { delta, .. } => delta.len(),
        Delta::CustomBlockDelta(more) => more.delta.len(),
        Delta::ToolCallStart { id, name } => BLOCK + id.len() + name.len(),
        Delta::ToolCall { id, name, input } => BLOCK + id.len() + name.len() + value_size(input),
        Delta::ToolCallEnd { input, .. } => input.as_ref().map_or(0, value_size),
        Delta::Error { error, .. } => BLOCK + error.len(),
        Delta::ContentMetadata { metadata } | Delta::ReasoningMetadata { metadata } => {
            let lists = metadata.citations.iter().chain(&metadata.annotations);
            BLOCK + json_size(&metadata.extensions) + lists.map(value_size).sum::<usize>()
        }
        Delta::ProviderData(it) => BLOCK + value_size(&it.data),
        Delta::CustomBlockStart(start) => start.tag.len(),
        Delta::CustomBlock(block) => block.content.len(),
        Delta::MessageStart { .. }
        | Delta::MessageEnd { .. }
        | Delta::Usage { .. }
        | Delta::Raw { .. }
        | Delta::Diagnostic(_)
        | Delta::CustomBlockEnd(_)
        | Delta::GadgetCallStart(_)
        | Delta::GadgetArgsPartial(_)
        | Delta::GadgetCall(_) => 0,
    }
}

fn json_size(map: &serde_json::Map<String, Value>) -> usize {
    let each = map.iter();
    each.map(|(key, value)| key.len() + value_size(value)).sum()
}

/// About what a value takes.
fn value_size(value: &Value) -> usize {
    16 + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_size).sum(),
        Value::Object(map) => json_size(map),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
