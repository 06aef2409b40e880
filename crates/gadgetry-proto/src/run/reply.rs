//! One reply while it is read: from its deltas to a message, its events and its calls.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::accumulate::Accumulator;
use crate::call::{Call, TerminatedBy};
use crate::delta::{Delta, StopReason};
use crate::dialect::{Gate, Gated, Quotations};
use crate::error::{Diagnostic, DiagnosticCode, ModelError, ModelErrorKind};
use crate::event::EventKind;
use crate::limits::{Limit, LimitExceeded};
use crate::message::{Content, Message};
use crate::piece::CallStart;
use crate::reply::Stopped;
use crate::run::calls::{Calls, limit_exceeded};
use crate::run::context::Context;
use crate::run::conversation::RunConversation;
use crate::run::dialects::{self, Foreign, Written};
use crate::run::ended_reply::{EndedReply, ReadReply};
use crate::run::io::Close;
use crate::run::native;
use crate::run::pipeline::Pipeline;
use crate::run::plan::Plan;
use crate::run::said::{NO_CALL, is_blank, no_call_note, visible_text};
use crate::run::size::ReplySize;
use crate::run::truncation::{Truncation, failure};
use crate::run::usage::believable;
use crate::usage::Usage;

/// Bytes of a text that are read at once, so that one delta never becomes too much.
const PIECE: usize = 64 << 10;

/// The reply that is being read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and any of them may be true together with any other"
)]
pub(super) struct StreamedReply {
    accumulator: Accumulator,
    /// The reply as written.
    raw: String,
    /// Calls in other forms are taken out of the text here.
    gate: Gate,
    /// Calls that the conversation has, and the model only repeats. They are found again after a restart.
    #[serde(skip)]
    quotations: Quotations,
    /// End of the last such call in `raw`.
    gated: usize,
    size: ReplySize,
    /// Whether a model was called for it.
    is_sent: bool,
    /// Whether something may have acted on it, so that it cannot be withdrawn.
    is_acted_on: bool,
    /// Whether events have shown any of it.
    is_shown: bool,
    has_text: bool,
    has_reasoning: bool,
    /// The words with which the provider refused to complete it.
    refusal: Option<String>,
    error: Option<ModelError>,
    truncation: Option<Truncation>,
    /// The place where it was ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
}

impl StreamedReply {
    /// A reply of a model that was called.
    pub(super) fn of_model() -> Self {
        Self {
            is_sent: true,
            ..Self::default()
        }
    }

    /// A reply that a decision gives in place of the model. There is nothing to retry.
    pub(super) fn of_decision() -> Self {
        let mut reply = Self::of_model();
        (reply.is_sent, reply.is_acted_on) = (false, true);
        reply
    }

    /// Returns `true` if something may have acted on it, so that it cannot be withdrawn.
    pub(super) fn is_acted_on(&self) -> bool {
        self.is_acted_on
    }

    /// Returns `true` if events have shown any of it.
    pub(super) fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Returns `true` if it has reached the cap on its length. Then it ends, as if the model had reached its token limit.
    pub(super) fn is_full(&self) -> bool {
        self.size.is_full()
    }

    /// Takes a delta.
    pub(super) fn read(
        &mut self,
        mut delta: Delta,
        pipeline: &mut Pipeline,
        calls: &mut Calls,
        conversation: &RunConversation,
        cx: &mut Context<'_>,
    ) {
        for interceptor in &cx.plan.code.interceptors {
            match interceptor.delta(delta) {
                Some(changed) => delta = changed,
                None => return,
            }
        }
        if let Delta::Text {
            delta: text,
            metadata,
        } = &mut delta
            && text.len() > PIECE
        {
            let mut rest = text.as_str();
            while !rest.is_empty() && !self.is_full() && self.stopped.is_none() {
                let (piece, more) = rest.split_at(rest.floor_char_boundary(PIECE));
                let piece = Delta::Text {
                    delta: piece.to_owned(),
                    metadata: metadata.take(),
                };
                self.read_piece(piece, pipeline, calls, conversation, cx);
                rest = more;
            }
        } else {
            self.read_piece(delta, pipeline, calls, conversation, cx);
        }
    }

    fn read_piece(
        &mut self,
        delta: Delta,
        pipeline: &mut Pipeline,
        calls: &mut Calls,
        conversation: &RunConversation,
        cx: &mut Context<'_>,
    ) {
        let Some(delta) = self.size.admit(delta, cx.plan.config.limits.reply) else {
            return;
        };
        if let Delta::Text { delta, .. } = &delta {
            self.raw.push_str(delta);
        } else if let Delta::Error(error) = &delta {
            self.error = Some(error.clone());
        }
        let mut ready = pipeline.push(delta);
        for delta in ready.drain(..) {
            self.take_in(delta, calls, conversation, cx);
        }
        pipeline.recycle(ready);
        if self.stopped.is_none()
            && let Some(stopped) = pipeline.stopped()
        {
            self.stopped = Some(stopped);
            self.raw
                .truncate(usize::try_from(stopped.at).unwrap_or(usize::MAX));
        }
    }

    /// The end of the pipeline: text goes through the gate, if there is anything that the gate may find.
    fn take_in(
        &mut self,
        delta: Delta,
        calls: &mut Calls,
        conversation: &RunConversation,
        cx: &mut Context<'_>,
    ) {
        let plan = cx.plan;
        if plan.code.interceptors.is_empty() && plan.config.dialects.is_empty() {
            self.take(delta, calls, cx);
        } else {
            self.take_through_gate(delta, calls, conversation, cx);
        }
    }

    fn take_through_gate(
        &mut self,
        mut delta: Delta,
        calls: &mut Calls,
        conversation: &RunConversation,
        cx: &mut Context<'_>,
    ) {
        if let Delta::Text { delta: text, .. } = &mut delta {
            for interceptor in &cx.plan.code.interceptors {
                match interceptor.text(mem::take(text)) {
                    Some(changed) => *text = changed,
                    None => return,
                }
            }
            if !cx.plan.config.dialects.is_empty() {
                let mut pieces = Vec::new();
                self.gate.push(text, &dialects::rules(cx.plan), &mut pieces);
                self.take_gated(pieces, calls, conversation, cx);
                return;
            }
        }
        if delta.is_action() || matches!(delta, Delta::Reasoning { .. } | Delta::GadgetCallStart(_))
        {
            let mut pieces = Vec::new();
            self.gate.flush(&dialects::rules(cx.plan), &mut pieces);
            self.take_gated(pieces, calls, conversation, cx);
        }
        self.take(delta, calls, cx);
    }

    /// Takes what has passed the gate.
    fn take_gated(
        &mut self,
        mut pieces: Vec<Gated>,
        calls: &mut Calls,
        conversation: &RunConversation,
        cx: &mut Context<'_>,
    ) {
        let dialects = &cx.plan.config.dialects;
        self.quotations
            .decide(&mut pieces, dialects, conversation.messages());
        let mut form = None;
        for piece in pieces {
            let written = Written {
                raw: &self.raw,
                end: &mut self.gated,
                form: &mut form,
            };
            for delta in dialects::deltas(piece, written, || calls.next_dialect_id()) {
                self.take(delta, calls, cx);
            }
        }
    }

    /// Into the message, the events and the calls.
    fn take(&mut self, mut delta: Delta, calls: &mut Calls, cx: &mut Context<'_>) {
        self.is_acted_on |= delta.is_action();
        self.see(&delta);
        if calls.is_surplus(&delta, self.raw.len() as u64, cx) {
            return;
        }
        if let Delta::CustomBlockStart(_) | Delta::CustomBlock(_) = &delta {
            self.size.add_block(cx.plan.config.limits.reply);
        } else if let Delta::GadgetCall(call) = delta {
            delta = Delta::GadgetCall(calls.count_values(call, cx.plan));
        }
        self.accumulator.push(&delta);
        match delta {
            Delta::Text { delta, .. } if !delta.is_empty() => {
                cx.out.emit(EventKind::Text { text: delta });
            }
            Delta::Reasoning { delta, .. } if !delta.is_empty() => {
                cx.out.emit(EventKind::Reasoning { text: delta });
            }
            Delta::CustomBlockStart(start) => cx.out.emit(EventKind::CustomBlockStart(start)),
            Delta::CustomBlockDelta(more) => cx.out.emit(EventKind::CustomBlockDelta(more)),
            Delta::CustomBlockEnd(end) => cx.out.emit(EventKind::CustomBlockEnd(end)),
            Delta::CustomBlock(block) => cx.out.emit(EventKind::CustomBlock(block)),
            Delta::GadgetCallStart(start) => calls.announce_start(start, cx),
            Delta::GadgetArgsPartial(args) => calls.announce_args(args, cx),
            Delta::GadgetCall(call) => calls.announce(call, self.end_of_calls(), cx),
            Delta::Diagnostic(diagnostic) => self.diagnose(diagnostic, calls, cx),
            Delta::ToolCallStart { id, name } => {
                calls.announce_start(CallStart::new(name, id), cx);
            }
            Delta::ToolCallEnd { id, .. } => self.call_natively(&id, calls, cx),
            Delta::ToolCall { id, name, .. } => {
                calls.announce_start(CallStart::new(name, id.as_str()), cx);
                self.call_natively(&id, calls, cx);
            }
            // The accumulator keeps these, or they are counts and frames.
            Delta::Text { .. }
            | Delta::Reasoning { .. }
            | Delta::ToolCallDelta { .. }
            | Delta::MessageStart { .. }
            | Delta::MessageEnd { .. }
            | Delta::Usage { .. }
            | Delta::Error(_)
            | Delta::Raw { .. }
            | Delta::ContentMetadata { .. }
            | Delta::ReasoningMetadata { .. }
            | Delta::ProviderData(_) => {}
        }
    }

    fn see(&mut self, delta: &Delta) {
        if let Delta::Text { delta, .. } = delta {
            self.is_shown |= !delta.is_empty();
            self.has_text |= !delta.trim().is_empty();
        } else if let Delta::Reasoning { delta, .. } = delta {
            self.is_shown |= !delta.is_empty();
            self.has_reasoning |= !delta.is_empty();
        } else {
            self.is_shown |= matches!(delta, Delta::ToolCallStart { .. } | Delta::Diagnostic(_));
        }
    }

    fn diagnose(&mut self, diagnostic: Diagnostic, calls: &mut Calls, cx: &mut Context<'_>) {
        let code = diagnostic.code;
        if code == DiagnosticCode::StrayReasoningEnd {
            self.accumulator.text_was_reasoning();
        }
        // What the model can do better in its next reply.
        let missed = [
            DiagnosticCode::NearMiss,
            DiagnosticCode::CutHeader,
            DiagnosticCode::RepeatedCall,
            DiagnosticCode::ExtraArguments,
            DiagnosticCode::RepeatedLines,
        ];
        if missed.contains(&code) {
            calls.notes.add(&diagnostic.message);
        }
        if code == DiagnosticCode::Refusal {
            self.refusal = Some(diagnostic.message.clone());
        }
        cx.out.emit(EventKind::Diagnostic(diagnostic));
    }

    /// A tool call is complete.
    fn call_natively(&mut self, id: &str, calls: &mut Calls, cx: &mut Context<'_>) {
        if let Some(Content::ToolUse { name, input, .. }) = self.accumulator.tool_use(id) {
            let call = native::call(cx.plan, id, name, input, TerminatedBy::EndMarker);
            announce_native(call, self.end_of_calls(), calls, cx);
        }
    }

    /// Ends a reply that is [full](Self::is_full).
    pub(super) fn end_full(&mut self, cx: &mut Context<'_>) {
        let (what, limit) = (Limit::Reply, cx.plan.config.limits.reply);
        let exceeded = LimitExceeded { what, limit };
        cx.out.emit(limit_exceeded(exceeded, self.raw.len() as u64));
        self.accumulator.push(&Delta::MessageEnd {
            stop_reason: StopReason::MaxTokens,
            usage: None,
        });
    }

    /// Returns `true` if it was ended early: what follows is not read.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Ends a reply that [was stopped](Self::is_stopped). After a call that cannot become valid it is as if the model had
    /// waited for its result; text that is repeated without end is cut off as by a token limit.
    pub(super) fn end_stopped(&mut self) {
        let is_call = self
            .stopped
            .is_some_and(|stopped| stopped.why == DiagnosticCode::HopelessCall);
        let stop_reason = if is_call {
            StopReason::ToolUse
        } else {
            StopReason::MaxTokens
        };
        let usage = None;
        self.accumulator
            .push(&Delta::MessageEnd { stop_reason, usage });
    }

    /// The stream is over: decides how the reply ended.
    pub(super) fn close(&mut self, close: Close) {
        if let Close::Failed(error) = close {
            self.error.get_or_insert(error);
        }
        self.truncation = if self.error.is_some() {
            Some(Truncation::Error)
        } else if self.is_full() {
            Some(Truncation::Length)
        } else {
            Truncation::of(self.accumulator.stop_reason())
        };
    }

    /// Returns how the calls were cut that only the end of the reply has ended.
    fn end_of_calls(&self) -> Option<&Truncation> {
        let is_next_turn = self.accumulator.stop_reason() == Some(&StopReason::NextTurn);
        let cut = self.truncation.as_ref();
        cut.or(is_next_turn.then_some(&Truncation::NextTurn))
    }

    /// The run is cancelled while the reply is read.
    pub(super) fn cancel(&mut self) {
        self.truncation = Some(Truncation::Cancelled);
    }

    /// Returns the error, if the model or the connection is at fault.
    pub(super) fn failure(&self) -> Option<ModelError> {
        let failure = failure(self.truncation.as_ref()?)?;
        Some(self.error.clone().unwrap_or(failure))
    }

    /// Adds to the words of the failure what the conversation is about.
    pub(super) fn explain(&mut self, advice: &str) {
        if let Some(error) = &mut self.error {
            error.message = format!("{}; {advice}", error.message.trim_end_matches('.'));
        }
    }

    /// Returns the error of a reply that is not an answer: it has ended cleanly, and holds neither text nor a block nor a call.
    pub(super) fn emptiness(&self, plan: &Plan) -> Option<ModelError> {
        // A transform may still hold text, and an interceptor may have removed some: then the model has written more
        // than was shown.
        let is_blank = self.raw.trim().is_empty();
        let is_reasoning = self.has_reasoning && plan.code.transforms.is_empty();
        let is_empty = self.truncation.is_none()
            && !self.is_acted_on
            && !self.has_text
            && !self.accumulator.has_tool_calls()
            && (is_blank || is_reasoning);
        let words = if self.has_reasoning {
            "the reply had reasoning, but no answer"
        } else {
            "the reply was empty"
        };
        is_empty.then(|| ModelError::new(ModelErrorKind::Other, words))
    }

    /// Withdraws the reply. Only what it has used remains.
    pub(super) fn withdraw(
        self,
        iteration: u32,
        pipeline: &mut Pipeline,
        calls: &mut Calls,
        conversation: &RunConversation,
        cx: &mut Context<'_>,
    ) -> (Option<StopReason>, Usage) {
        pipeline.discard();
        calls.notes.clear();
        calls.execution.end_reply();
        if self.is_shown {
            cx.out.emit(EventKind::ReplyWithdrawn { iteration });
        }
        let bytes = self.raw.len() as u64;
        let output = self.accumulator.into_output();
        let usage = if self.is_sent {
            believable(output.usage, bytes, conversation.tokens(), cx.plan)
        } else {
            output.usage
        };
        (output.stop_reason, usage)
    }

    /// Makes a message of the reply and adds it to the conversation.
    pub(super) fn finish(
        mut self,
        pipeline: &mut Pipeline,
        calls: &mut Calls,
        conversation: &mut RunConversation,
        cx: &mut Context<'_>,
    ) -> ReadReply {
        let emptiness = self.emptiness(cx.plan);
        let mut ready = pipeline.finish();
        for delta in ready.drain(..) {
            self.take_in(delta, calls, conversation, cx);
        }
        pipeline.recycle(ready);
        let mut pieces = Vec::new();
        let rules = dialects::rules(cx.plan);
        let is_cut_off = self.truncation.is_some();
        self.gate.finish(is_cut_off, &rules, &mut pieces);
        self.take_gated(pieces, calls, conversation, cx);
        let output = mem::take(&mut self.accumulator).into_output();
        conversation.observe(output.usage.input_tokens);
        let usage = if self.is_sent {
            let bytes = self.raw.len() as u64;
            believable(output.usage, bytes, conversation.tokens(), cx.plan)
        } else {
            output.usage
        };
        let message = output.message;
        self.end_tool_calls(&message.content, calls, cx);
        self.note_foreign(&message.content, calls, conversation, cx);
        let announced = output.stop_reason == Some(StopReason::ToolUse);
        let lacks_call = announced && self.truncation.is_none() && calls.is_empty();
        if lacks_call {
            calls.notes.add(&no_call_note(cx.plan));
        }
        conversation.set_answer(visible_text(&message));
        let has_message = self.push_message(message, conversation, cx.plan);
        calls.execution.end_reply();
        let failure = self.failure();
        let retry = cx.plan.config.retry.as_ref();
        let counts = retry.is_none_or(|retry| retry.on_empty);
        let lack = emptiness.filter(|_| counts && !conversation.has_answer());
        let lacks_answer = lack.is_some();
        let no_call = lacks_call.then(|| ModelError::new(ModelErrorKind::Other, NO_CALL));
        ReadReply {
            ended: EndedReply {
                truncation: self.truncation,
                error: lack.or(no_call).or_else(|| failure.clone()),
                refusal: self.refusal,
                lacks_call,
                lacks_answer,
            },
            has_message,
            stop_reason: output.stop_reason,
            usage,
            failure,
        }
    }

    /// Announces calls that only the end of the reply has ended. After a truncation they are answered, not executed.
    fn end_tool_calls(&self, content: &[Content], calls: &mut Calls, cx: &mut Context<'_>) {
        let mut uses = content
            .iter()
            .filter(|part| matches!(part, Content::ToolUse { .. }))
            .peekable();
        if uses.peek().is_none() {
            return;
        }
        // A clean end completes them.
        let end = if self.truncation.is_none() {
            TerminatedBy::EndMarker
        } else {
            TerminatedBy::EndOfStream
        };
        let known: BTreeSet<String> = calls.ids().map(str::to_owned).collect();
        for part in uses {
            if let Content::ToolUse {
                tool_use_id,
                name,
                input,
            } = part
                && !known.contains(tool_use_id)
            {
                let call = native::call(cx.plan, tool_use_id, name, input, end);
                announce_native(call, self.end_of_calls(), calls, cx);
            }
        }
    }

    /// If the reply calls nothing, the model learns about calls in other forms, which are not executed.
    fn note_foreign(
        &mut self,
        content: &[Content],
        calls: &mut Calls,
        conversation: &RunConversation,
        cx: &mut Context<'_>,
    ) {
        if !calls.is_empty() {
            return;
        }
        let (dialects, messages) = (&cx.plan.config.dialects, conversation.messages());
        let is_quoted =
            |it: &Foreign| (self.quotations).has(&it.call, &it.form, dialects, messages);
        for missed in dialects::missed(&self.raw, content, cx.plan, is_quoted) {
            calls.notes.add(&missed.message);
            cx.out.emit(EventKind::Diagnostic(missed));
        }
    }

    /// Adds the message to the conversation, unless it is empty: whitespace alone counts as empty, and providers
    /// refuse it.
    fn push_message(
        &mut self,
        mut message: Message,
        conversation: &mut RunConversation,
        plan: &Plan,
    ) -> bool {
        let mut raw = mem::take(&mut self.raw);
        if !plan.config.tools.is_native()
            && let Some(blocks) = native::as_blocks(&message.content, plan)
        {
            if !raw.is_empty() && !raw.ends_with('\n') {
                raw.push('\n');
            }
            raw.push_str(&blocks);
        }
        let is_written = !raw.is_empty();
        for interceptor in &plan.code.interceptors {
            raw = interceptor.reply(raw);
        }
        let says_something = !raw.trim().is_empty() || !message.content.iter().all(is_blank);
        if says_something {
            // An empty text is kept where an interceptor has removed all of it.
            message.raw = Some(raw).filter(|raw| is_written || !raw.is_empty());
            conversation.push(message);
        }
        says_something
    }
}

fn announce_native(
    call: Arc<Call>,
    end: Option<&Truncation>,
    calls: &mut Calls,
    cx: &mut Context<'_>,
) {
    let call = calls.count_values(call, cx.plan);
    if !cx.plan.config.tools.is_native() {
        cx.out.emit(native::unexpected(&call));
    }
    calls.announce(call, end, cx);
}
