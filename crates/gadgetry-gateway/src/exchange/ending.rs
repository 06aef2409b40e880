//! How an exchange ends.

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::dialect::Gate;
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::reply::Stopped;
use gadgetry_proto::usage::Usage;

use super::prefill::Prefill;
use super::{Exchange, HeldCall, Progress};

impl Exchange {
    /// The upstream's reply is complete.
    pub(super) fn end(&mut self, stop_reason: StopReason, out: &mut Vec<Delta>) -> Progress {
        let mut read = std::mem::take(&mut self.scratch);
        if let Some(text) = Prefill::end(&mut self.prefill) {
            self.reader.push(text, &mut read);
        }
        let end = Delta::MessageEnd {
            stop_reason: stop_reason.clone(),
            usage: None,
        };
        self.reader.push(end, &mut read);
        let output = self.reader.finish(&mut read);
        // The beginning of a block that was cut off is nothing for the client to see.
        let start = self.setup.secrets.markers.start();
        let begins = |delta: &Delta| matches!(delta, Delta::Text { delta, .. } if delta.trim_start().starts_with(start));
        if let Some(at) = read.iter().position(begins) {
            let rest = read.split_off(at).into_iter();
            read.extend(rest.filter(|delta| !matches!(delta, Delta::Text { .. })));
        }
        // A call that only the end of the reply has completed is judged by how it ended.
        self.read(&mut read, out);
        self.scratch = read;
        if self.is_over {
            return Progress::Done;
        }
        self.flush_text(out);
        self.gate = Gate::default();
        self.add_usage();
        if self.is_enough() {
            return self.finish(StopReason::ToolUse, out);
        }
        let is_cut = !stop_reason.is_clean();
        if is_cut {
            return self.finish(stop_reason, out);
        }
        if let Some(problem) = self.to_repair() {
            if self.counts.repairs < self.setup.rules.repairs {
                return self.repair(output.message.raw.unwrap_or_default(), &problem);
            }
            let has_text = !self.turn.text.trim().is_empty() || self.has_text;
            let is_demanded = self.setup.request.choice.kind.is_forced();
            if self.sent.is_empty() && (is_demanded || !self.turn.failures.is_empty() || !has_text)
            {
                return self.fail(&problem, out);
            }
        }
        self.finish(stop_reason, out)
    }

    /// The reply was ended, because the rest of it would only cost. A call in it that is not whole is one to correct; text that
    /// repeats itself is cut off as by a token limit.
    pub(super) fn end_stopped(&mut self, stopped: Stopped, out: &mut Vec<Delta>) -> Progress {
        if stopped.why == DiagnosticCode::RepeatedLines && stopped.in_block {
            self.turn.repeats = true;
        }
        let reason = if stopped.in_block {
            StopReason::ToolUse
        } else {
            StopReason::MaxTokens
        };
        self.end(reason, out)
    }

    /// Ends the client's reply.
    pub(super) fn finish(&mut self, reason: StopReason, out: &mut Vec<Delta>) -> Progress {
        self.start(out);
        if self.is_repair() && self.sent.is_empty() && !self.was_near_miss {
            let text = std::mem::take(&mut self.turn.text);
            if !text.trim().is_empty() {
                out.push(Delta::text(text));
            }
        }
        if !self.withheld.is_empty() {
            // It was cut off before it could call anything.
            out.push(Delta::text(std::mem::take(&mut self.withheld)));
        }
        let sent = |id: &String| self.sent.iter().any(|(_, sent, _)| sent == id);
        let mut waiting: Vec<HeldCall> = std::mem::take(&mut self.held);
        if !waiting
            .iter()
            .any(|call| call.dependencies.iter().any(sent))
        {
            waiting.clear();
        }
        if let Some(owner) = self.setup.owner {
            self.setup.held.keep(owner, self.ids.exchange(), waiting);
        }
        let stop_reason = match (reason, self.sent.is_empty()) {
            (
                StopReason::Stop
                | StopReason::ToolUse
                | StopReason::StopSequence
                | StopReason::NextTurn,
                false,
            ) => StopReason::ToolUse,
            (StopReason::ToolUse | StopReason::NextTurn, true) => StopReason::Stop,
            (reason, _) => reason,
        };
        let usage = if self.is_counted && self.usage != Usage::default() {
            self.usage
        } else if self.usage.input_tokens > 0 {
            // One of several replies was not counted, so the sum is an estimate.
            self.usage.plus(Usage::estimate(0, 0))
        } else {
            Usage::estimate(self.prompt_tokens(), self.written.div_ceil(4))
        };
        out.push(Delta::MessageEnd {
            stop_reason,
            usage: Some(usage),
        });
        self.over()
    }

    /// Adds the tokens of the upstream's reply to those before.
    pub(super) fn add_usage(&mut self) {
        match self.turn_usage.take() {
            Some(usage) => self.usage = self.usage.plus(usage),
            None => self.is_counted = false,
        }
    }
}
