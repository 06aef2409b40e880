//! Caps on what the calls of a reply, and their results, may take.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, Parameters};
use crate::delta::{Delta, DeltaKind};
use crate::limits::{Limit, LimitExceeded, Limits};
use crate::message::Content;
use crate::schema::count;

/// Bytes of results that must be left before a gadget starts, so that its error fits.
const LEAST_RESULT: usize = 4 << 10;

/// The used part of [`crate::limits::Limits`]. All counts but the last start again with each reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Room {
    /// Calls that began through the provider's own interface.
    native: usize,
    /// Calls that are not kept because the reply has too many.
    surplus: u32,
    json_values: usize,
    /// Bytes of results that were put into parameters.
    references: usize,
    /// Bytes of the results of the whole run.
    results: usize,
}

impl Room {
    pub(super) fn begin_reply(&mut self) {
        *self = Self {
            results: self.results,
            ..Self::default()
        };
    }

    /// Counts a part of a call if it belongs to one call too many: nothing else is kept of such calls.
    pub(super) fn count_surplus(&mut self, delta: &Delta, calls: usize, cap: usize) -> Surplus {
        let (is_surplus, is_new) = match delta.kind() {
            DeltaKind::GadgetCall => (calls >= cap, matches!(delta, Delta::GadgetCall(_))),
            DeltaKind::ToolCall
                if matches!(delta, Delta::ToolCallStart { .. } | Delta::ToolCall { .. }) =>
            {
                self.native += 1;
                (self.native > cap, true)
            }
            DeltaKind::Text
            | DeltaKind::Reasoning
            | DeltaKind::ToolCall
            | DeltaKind::CustomBlock
            | DeltaKind::Frame => (false, false),
        };
        if !is_surplus {
            return Surplus::No;
        }
        if is_new {
            self.surplus = self.surplus.saturating_add(1);
            if self.surplus == 1 {
                return Surplus::First;
            }
        }
        Surplus::Further
    }

    /// Returns the note to the model about calls that are not kept.
    pub(super) fn surplus_note(&self, limits: &Limits) -> Option<Content> {
        let surplus = self.surplus;
        let exceeded = LimitExceeded {
            what: Limit::CallsPerReply,
            limit: limits.calls_per_reply,
        };
        let calls = if surplus == 1 {
            "call was"
        } else {
            "calls were"
        };
        let text = format!("Error: {surplus} further {calls} not executed. {exceeded}");
        (surplus > 0).then_some(Content::Text { text })
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

    /// Counts the values of a call. A call that has too many becomes malformed, with the reason as its parse error.
    pub(super) fn take_call(&mut self, call: Arc<Call>, limits: &Limits) -> Arc<Call> {
        let Parameters::Parsed(parameters) = &call.parameters else {
            return call;
        };
        let Err(exceeded) = self.take_values(parameters, limits) else {
            return call;
        };
        let mut call = Arc::unwrap_or_clone(call);
        call.parameters = Parameters::Malformed(exceeded.to_string());
        Arc::new(call)
    }

    /// Bytes of results that may still be put into the parameters of this reply.
    pub(super) fn left_for_references(&self, limits: &Limits) -> usize {
        limits.references.saturating_sub(self.references)
    }

    /// Counts results that were put into the parameters of a call. The error is for the model.
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

    /// Checks that one more result fits; otherwise returns the error for the model, and its gadget is not started.
    pub(super) fn check_result(&self, limits: &Limits) -> Result<(), String> {
        let limit = limits.results;
        if self.results.saturating_add(LEAST_RESULT.min(limit)) <= limit {
            return Ok(());
        }
        let what = Limit::Results;
        let exceeded = LimitExceeded { what, limit };
        Err(format!("Error: The call was not executed. {exceeded}"))
    }

    /// Counts a result. One that is too long is replaced by an error.
    pub(super) fn take_result(
        &mut self,
        result: Result<String, String>,
        limits: &Limits,
    ) -> Result<String, String> {
        let (Ok(text) | Err(text)) = &result;
        let limit = limits.results;
        let total = self.results.saturating_add(text.len());
        if total <= limit {
            self.results = total;
            return result;
        }
        let what = Limit::Results;
        let exceeded = LimitExceeded { what, limit };
        Err(format!(
            "Error: The gadget ran, but its result of {} bytes was dropped. {exceeded}",
            text.len()
        ))
    }
}

/// The decision whether a delta belongs to a call that is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Surplus {
    No,
    /// The first one of its reply.
    First,
    Further,
}
