//! Counts of an exchange: bytes, tokens, and events for metrics.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::usage::Usage;

use super::size::{size, too_large, too_many_calls, written};

/// Numbers of events of an exchange, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that were sent to the client.
    pub calls: u32,
    /// Calls that could not be sent.
    pub invalid: u32,
    /// Repair turns.
    pub repairs: u32,
    /// Calls that wait for others.
    pub held: u32,
    /// Replies with text that looked like a call, and was not one.
    pub near_misses: u32,
    /// Replies with the form of a call in their text: of an unknown tool, damaged, quoted from data, or in a dialect that is not enabled.
    pub forms: u32,
}

impl Counts {
    /// Returns `true` if the model wrote text that looks like a call, and no call was sent or waits for others.
    pub fn is_unparsed(&self) -> bool {
        self.calls == 0
            && self.held == 0
            && (self.invalid > 0 || self.near_misses > 0 || self.forms > 0)
    }
}

/// Counts over all replies of the upstream.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) counts: Counts,
    /// Bytes of all deltas of the upstream.
    received: usize,
    /// Bytes of text and reasoning that the upstream has written.
    written: u64,
    /// Native calls that have begun in the current reply.
    native: usize,
    /// Tokens of the replies that have ended.
    usage: Usage,
    /// Tokens of the current reply, as far as the upstream has counted them.
    reply: Option<Usage>,
    /// `true` if the upstream has not counted one of the replies.
    is_incomplete: bool,
}

impl Tally {
    /// Counts a delta of the upstream. Returns an error for the client after more than `bytes` or too many native calls.
    pub(super) fn receive(&mut self, delta: &Delta, bytes: usize) -> Option<Delta> {
        self.received += size(delta);
        self.written += written(delta);
        let is_call = matches!(delta, Delta::ToolCallStart { .. } | Delta::ToolCall { .. });
        self.native += usize::from(is_call);
        let calls = Limits::default().calls_per_reply;
        if self.received > bytes && !matches!(delta, Delta::Error(_)) {
            Some(too_large(bytes))
        } else if self.native > calls {
            Some(too_many_calls(calls))
        } else {
            None
        }
    }

    /// Takes the tokens of the current reply. The last count that the upstream sends is the valid one.
    pub(super) fn counted(&mut self, usage: Option<Usage>) {
        self.reply = usage.or(self.reply);
    }

    /// Adds the tokens of the current reply, which has ended, to those of the replies before.
    pub(super) fn end_reply(&mut self) {
        self.native = 0;
        match self.reply.take() {
            Some(usage) => self.usage = self.usage.plus(usage),
            None => self.is_incomplete = true,
        }
    }

    /// Returns the tokens of the exchange: estimated if the upstream has not counted all of them. `prompt` estimates those of the
    /// prompt.
    pub(super) fn usage(&self, prompt: impl FnOnce() -> u64) -> Usage {
        if !self.is_incomplete && self.usage != Usage::default() {
            self.usage
        } else if self.usage.input_tokens > 0 {
            // One of several replies was not counted, so the sum is an estimate.
            self.usage.plus(Usage::estimate(0, 0))
        } else {
            Usage::estimate(prompt(), self.written.div_ceil(4))
        }
    }
}
