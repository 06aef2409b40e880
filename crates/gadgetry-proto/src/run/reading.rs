//! Reading a reply: deltas through the stages, and what each becomes.

use std::mem;

use crate::delta::{Delta, StopReason};
use crate::error::{DiagnosticCode, ModelErrorKind};
use crate::event::EventKind;
use crate::message::{Content, Message, Purpose};
use crate::run::Run;
use crate::run::question::QuestionKind;
use crate::run::state::{Cut, ModelError, Pending, Phase, Seen};
use crate::transform::DeltaTransform;
use crate::usage::Usage;

/// Of text, as long as nothing better is known.
const BYTES_PER_TOKEN: u64 = 4;

/// No reply has more bytes per token on average: a report of fewer tokens is not believed.
const MOST_BYTES_PER_TOKEN: u64 = 128;

/// What a reply is that ends with [`StopReason::ToolUse`] and has no calls.
const NO_CALL: &str = "The reply announced a call, but contained none";
/// Bytes of a text that are read at once, so that what one delta becomes is never much.
const PIECE: usize = 64 << 10;

/// Notes on one reply that the model is told.
const NOTES: usize = 8;

impl Run {
    /// Takes a delta of the reply in.
    pub(super) fn read(&mut self, mut delta: Delta) {
        for interceptor in &self.spec.interceptors {
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
            while !rest.is_empty() && !self.state.used.is_full {
                let (piece, more) = rest.split_at(rest.floor_char_boundary(PIECE));
                self.read_piece(Delta::Text {
                    delta: piece.to_owned(),
                    metadata: metadata.take(),
                });
                rest = more;
            }
        } else {
            self.read_piece(delta);
        }
        self.cut_if_full();
    }

    fn read_piece(&mut self, delta: Delta) {
        let Some(delta) = self.count_in(delta) else {
            return;
        };
        if let Delta::Text { delta, .. } = &delta {
            self.state.raw.push_str(delta);
        } else if let Delta::Error {
            error,
            kind,
            retry_after_ms,
            ..
        } = &delta
        {
            self.state.model_error = Some(ModelError {
                kind: *kind,
                words: error.clone(),
                retry_after_ms: *retry_after_ms,
            });
        }
        let mut scanned = mem::take(&mut self.scanned);
        self.stage.process(delta, &mut scanned);
        self.pass_on(&mut scanned);
        self.scanned = scanned;
    }

    /// Through the transforms.
    fn pass_on(&mut self, scanned: &mut Vec<Delta>) {
        let mut transformed = mem::take(&mut self.transformed);
        for delta in scanned.drain(..) {
            self.transforms().process(delta, &mut transformed);
            for delta in transformed.drain(..) {
                self.take_in(delta);
            }
        }
        self.transformed = transformed;
    }

    /// The end of the pipeline: into the message, to whoever watches, to the scheduler.
    fn take_in(&mut self, mut delta: Delta) {
        if let Delta::Text { delta: text, .. } = &mut delta {
            for interceptor in &self.spec.interceptors {
                match interceptor.text(mem::take(text)) {
                    Some(changed) => *text = changed,
                    None => return,
                }
            }
        }
        self.state.acted_on |= is_action(&delta);
        self.state.seen.note(&delta);
        if self.is_surplus(&delta) {
            return;
        }
        if let Delta::CustomBlockStart(_) | Delta::CustomBlock(_) = &delta {
            self.count_block();
        } else if let Delta::GadgetCall(call) = delta {
            delta = Delta::GadgetCall(self.within_values(call));
        }
        self.state.accumulator.absorb(&delta);
        match delta {
            Delta::Text { delta, .. } if !delta.is_empty() => {
                self.tell(EventKind::Text { text: delta });
            }
            Delta::Reasoning { delta, .. } if !delta.is_empty() => {
                self.tell(EventKind::Reasoning { text: delta });
            }
            Delta::CustomBlockStart(start) => self.tell(EventKind::CustomBlockStart(start)),
            Delta::CustomBlockDelta(more) => self.tell(EventKind::CustomBlockDelta(more)),
            Delta::CustomBlockEnd(end) => self.tell(EventKind::CustomBlockEnd(end)),
            Delta::CustomBlock(block) => self.tell(EventKind::CustomBlock(block)),
            Delta::GadgetCallStart(start) => self.announce_start(start),
            Delta::GadgetArgsPartial(args) => {
                let call = self.state.numbers.of_piece(&args.invocation_id);
                self.tell(EventKind::GadgetArgsPartial { call, args });
            }
            Delta::GadgetCall(call) => {
                self.announce(call);
            }
            Delta::Diagnostic(diagnostic) => {
                if diagnostic.code == DiagnosticCode::StrayReasoningEnd {
                    self.state.accumulator.text_was_reasoning();
                }
                let missed = [
                    DiagnosticCode::NearMiss,
                    DiagnosticCode::CutHeader,
                    DiagnosticCode::RepeatedCall,
                    DiagnosticCode::ExtraArguments,
                ];
                if missed.contains(&diagnostic.code) {
                    self.note(&diagnostic.message);
                }
                if diagnostic.code == DiagnosticCode::Refusal {
                    self.state.refusal = Some(diagnostic.message.clone());
                }
                self.tell(EventKind::Diagnostic(diagnostic));
            }
            Delta::ToolCallStart { .. }
            | Delta::ToolCallDelta { .. }
            | Delta::ToolCallEnd { .. }
            | Delta::ToolCall { .. } => self.take_tool_call(delta),
            // Counts and frames: the accumulator keeps them.
            Delta::Text { .. }
            | Delta::Reasoning { .. }
            | Delta::MessageStart { .. }
            | Delta::MessageEnd { .. }
            | Delta::Usage { .. }
            | Delta::Error { .. }
            | Delta::Raw { .. }
            | Delta::ContentMetadata { .. }
            | Delta::ReasoningMetadata { .. }
            | Delta::ProviderData(_) => {}
        }
    }

    /// Lets the stages hand out what they hold.
    pub(super) fn finish_stages(&mut self) {
        let mut scanned = mem::take(&mut self.scanned);
        self.stage.finish(&mut scanned);
        self.pass_on(&mut scanned);
        self.transforms().flush(&mut scanned);
        for delta in scanned.drain(..) {
            self.take_in(delta);
        }
        self.scanned = scanned;
    }

    /// Makes a message of the reply. Its calls may still run.
    pub(super) fn end_reply(&mut self) {
        let reply = mem::take(&mut self.state.accumulator).into_output();
        self.state.tokens.observe(reply.usage.input_tokens);
        let usage = self.used(reply.usage);
        let mut message = reply.message;
        let mut raw = mem::take(&mut self.state.raw);
        self.end_tool_calls(&message.content);
        self.read_dialects(&raw, &mut message.content);
        self.note_missing_call(reply.stop_reason.as_ref());
        self.write_native_calls(&mut raw, &message.content);
        let written = !raw.is_empty();
        for interceptor in &self.spec.interceptors {
            raw = interceptor.reply(raw);
        }
        let text = visible_text(&message);
        if !text.trim().is_empty() {
            self.state.answer = text;
        }
        // White space alone says nothing, and providers refuse it.
        let said = !raw.trim().is_empty() || !message.content.iter().all(is_blank);
        if said {
            // An empty text stands for what an interceptor took away.
            message.raw = Some(raw).filter(|raw| written || !raw.is_empty());
            self.push_message(message);
        }
        self.state.phase = Phase::Working;
        self.state.model_error = self.failure();
        let error = self.state.model_error.as_ref();
        let error = error.map(|error| error.words.clone());
        if self.state.promised {
            self.state.model_error = Some(ModelError {
                kind: ModelErrorKind::Other,
                words: NO_CALL.to_owned(),
                retry_after_ms: None,
            });
        }
        if self.has_no_answer() {
            self.state.model_error = Some(self.emptiness());
        }
        self.tell_end_of_call(Purpose::Reply, reply.stop_reason.clone(), usage, error);
        self.state.scheduler.end_reply();
        if self.spec.asks.after_model_call && self.state.cut != Some(Cut::Cancelled) {
            let question = QuestionKind::AfterModelCall {
                iteration: self.state.iteration,
                message: self.state.history.last().cloned().filter(|_| said),
                stop_reason: reply.stop_reason.unwrap_or(StopReason::Error),
                usage,
            };
            self.block(Pending::AfterReply { said }, question);
        }
    }

    /// A model that says that it calls something, and calls nothing, is not done.
    fn note_missing_call(&mut self, stop_reason: Option<&StopReason>) {
        let promised = stop_reason == Some(&StopReason::ToolUse) && self.state.cut.is_none();
        self.state.promised = promised && self.state.calls.is_empty();
        if self.state.promised {
            let how = if self.spec.tools.reads_blocks() {
                let start = self.spec.markers.start();
                format!("To call a gadget, write a block that begins with {start}")
            } else {
                "To call a gadget, use your interface for tools".to_owned()
            };
            let note = format!("{NO_CALL}. {how}; if you are done, answer without a call.");
            self.note(&note);
        }
    }

    /// Tells the model something about its reply, once.
    pub(super) fn note(&mut self, note: &str) {
        let notes = &mut self.state.notes;
        if notes.len() < NOTES && !notes.iter().any(|known| known == note) {
            notes.push(note.to_owned());
        }
    }

    /// What the reply as read so far has used. A provider that tells nothing has not given it for nothing: where the
    /// model has a price, that is an estimate.
    pub(super) fn used(&self, told: Usage) -> Usage {
        let bytes = self.state.raw.len() as u64;
        let unknown = told == Usage::default() && bytes > 0 && self.state.sent;
        let output = bytes.div_ceil(BYTES_PER_TOKEN);
        if self.spec.price.is_none() || !self.state.sent {
            told
        } else if unknown {
            Usage::estimate(self.state.tokens.tokens(), output)
        } else if bytes / MOST_BYTES_PER_TOKEN > told.output_tokens {
            // A budget would not hold against a server that reports one token for each reply.
            Usage {
                output_tokens: output,
                total_tokens: told
                    .total_tokens
                    .max(told.input_tokens.saturating_add(output)),
                estimated: true,
                ..told
            }
        } else {
            told
        }
    }

    /// A model call is over, and what it cost is counted.
    pub(super) fn tell_end_of_call(
        &mut self,
        purpose: Purpose,
        stop_reason: Option<StopReason>,
        usage: Usage,
        error: Option<String>,
    ) {
        self.state.numbers.end_reply();
        let cost = usage.dollars(self.spec.price.as_ref());
        let cost = cost.map(|dollars| self.charge(dollars));
        self.state.unpriced |= cost.is_none();
        self.tell(EventKind::ModelCallEnd {
            iteration: self.state.iteration,
            purpose,
            stop_reason: stop_reason.unwrap_or(StopReason::Error),
            usage,
            cost,
            error,
        });
    }
}

/// Whether something may act on it, so that the reply cannot be withdrawn. Text, reasoning and a native call that has
/// only begun are shown, and nothing more.
fn is_action(delta: &Delta) -> bool {
    match delta {
        Delta::Text { .. }
        | Delta::Reasoning { .. }
        | Delta::ToolCallStart { .. }
        | Delta::ToolCallDelta { .. }
        | Delta::MessageStart { .. }
        | Delta::MessageEnd { .. }
        | Delta::Usage { .. }
        | Delta::Error { .. }
        | Delta::Raw { .. }
        | Delta::ContentMetadata { .. }
        | Delta::ReasoningMetadata { .. }
        | Delta::ProviderData(_)
        | Delta::Diagnostic(_) => false,
        Delta::ToolCallEnd { .. }
        | Delta::ToolCall { .. }
        | Delta::CustomBlockStart(_)
        | Delta::CustomBlockDelta(_)
        | Delta::CustomBlockEnd(_)
        | Delta::CustomBlock(_)
        | Delta::GadgetCallStart(_)
        | Delta::GadgetArgsPartial(_)
        | Delta::GadgetCall(_) => true,
    }
}

impl Seen {
    fn note(&mut self, delta: &Delta) {
        if let Delta::Text { delta, .. } = delta {
            self.shown |= !delta.is_empty();
            self.text |= !delta.trim().is_empty();
        } else if let Delta::Reasoning { delta, .. } = delta {
            self.shown |= !delta.is_empty();
            self.reasoning |= !delta.is_empty();
        } else {
            self.shown |= matches!(delta, Delta::ToolCallStart { .. } | Delta::Diagnostic(_));
        }
    }
}

fn is_blank(content: &Content) -> bool {
    if let Content::Text { text } = content {
        return text.trim().is_empty();
    }
    // It says nothing by itself.
    matches!(content, Content::ProviderData(_))
}

fn visible_text(message: &Message) -> String {
    let mut text = String::new();
    for content in &message.content {
        if let Content::Text { text: more } = content {
            text.push_str(more);
        }
    }
    text
}
