//! Reading a reply: deltas through the stages, and what each becomes.

use std::mem;

use crate::delta::{Delta, StopReason};
use crate::error::DiagnosticCode;
use crate::event::EventKind;
use crate::message::{Content, Message, Purpose};
use crate::run::Run;
use crate::run::io::Close;
use crate::run::state::{Cut, Phase};
use crate::transform::DeltaTransform;

/// Notes on one reply that the model is told.
const NOTES: usize = 8;

impl Run {
    /// Takes a delta of the reply in.
    pub(super) fn read(&mut self, delta: Delta) {
        if let Delta::Text { delta, .. } = &delta {
            self.state.raw.push_str(delta);
        } else if let Delta::Error { error, .. } = &delta {
            self.state.model_error = Some(error.clone());
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
            self.transforms.process(delta, &mut transformed);
            for delta in transformed.drain(..) {
                self.take_in(delta);
            }
        }
        self.transformed = transformed;
    }

    /// The end of the pipeline: into the message, to whoever watches, to the scheduler.
    fn take_in(&mut self, delta: Delta) {
        self.state.accumulator.apply(&delta, &mut Vec::new());
        match delta {
            Delta::Text { delta, .. } if !delta.is_empty() => {
                self.tell(EventKind::Text { text: delta });
            }
            Delta::Reasoning { delta, .. } if !delta.is_empty() => {
                self.tell(EventKind::Reasoning { text: delta });
            }
            Delta::CustomBlockStart {
                block_id,
                tag,
                attrs,
            } => {
                self.tell(EventKind::CustomBlockStart {
                    block_id,
                    tag,
                    attrs,
                });
            }
            Delta::CustomBlockDelta {
                block_id,
                tag,
                delta,
            } => {
                self.tell(EventKind::CustomBlockDelta {
                    block_id,
                    tag,
                    delta,
                });
            }
            Delta::CustomBlockEnd {
                block_id,
                tag,
                reason,
            } => {
                self.tell(EventKind::CustomBlockEnd {
                    block_id,
                    tag,
                    reason,
                });
            }
            Delta::CustomBlock(block) => self.tell(EventKind::CustomBlock(block)),
            Delta::GadgetCallStart {
                gadget_name,
                invocation_id,
                dependencies,
            } => {
                self.tell(EventKind::GadgetCallStart {
                    gadget_name,
                    invocation_id,
                    dependencies,
                });
            }
            Delta::GadgetArgsPartial {
                invocation_id,
                gadget_name,
                field_path,
                delta,
                is_field_complete,
            } => self.tell(EventKind::GadgetArgsPartial {
                invocation_id,
                gadget_name,
                field_path,
                delta,
                is_field_complete,
            }),
            Delta::GadgetCall(call) => {
                self.tell(EventKind::GadgetCall(call.clone()));
                self.admit(call);
            }
            Delta::Diagnostic(diagnostic) => {
                let notes = &mut self.state.notes;
                let missed = [DiagnosticCode::NearMiss, DiagnosticCode::CutHeader];
                if missed.contains(&diagnostic.code)
                    && notes.len() < NOTES
                    && !notes.contains(&diagnostic.message)
                {
                    notes.push(diagnostic.message.clone());
                }
                self.tell(EventKind::Diagnostic(diagnostic));
            }
            // Tool calls of the provider's own interface, counts and frames: the accumulator keeps them.
            Delta::Text { .. }
            | Delta::Reasoning { .. }
            | Delta::ToolCallStart { .. }
            | Delta::ToolCallDelta { .. }
            | Delta::ToolCallEnd { .. }
            | Delta::ToolCall { .. }
            | Delta::MessageStart { .. }
            | Delta::MessageEnd { .. }
            | Delta::Usage { .. }
            | Delta::Error { .. }
            | Delta::Raw { .. }
            | Delta::ContentMetadata { .. }
            | Delta::ReasoningMetadata { .. } => {}
        }
    }

    /// The stream of the reply is over.
    pub(super) fn close_reply(&mut self, close: Close) {
        if let Close::Failed(error) = close {
            self.state.model_error.get_or_insert(error);
        }
        self.state.cut = self.how_cut();
        self.finish_stages();
        self.end_reply();
    }

    /// How the reply was cut off; `None` if the model stopped by itself.
    fn how_cut(&self) -> Option<Cut> {
        if self.state.model_error.is_some() {
            return Some(Cut::Error);
        }
        match self.state.accumulator.stop_reason() {
            None => Some(Cut::Disconnect),
            Some(StopReason::MaxTokens) => Some(Cut::Length),
            Some(StopReason::ContentFilter) => Some(Cut::Filter),
            Some(StopReason::Error) => Some(Cut::Error),
            Some(
                StopReason::Stop
                | StopReason::StopSequence
                | StopReason::ToolUse
                | StopReason::Other(_),
            ) => None,
        }
    }

    /// Lets the stages hand out what they hold.
    pub(super) fn finish_stages(&mut self) {
        let mut scanned = mem::take(&mut self.scanned);
        self.stage.finish(&mut scanned);
        self.pass_on(&mut scanned);
        self.transforms.flush(&mut scanned);
        for delta in scanned.drain(..) {
            self.take_in(delta);
        }
        self.scanned = scanned;
    }

    /// Makes a message of the reply. Its calls may still run.
    pub(super) fn end_reply(&mut self) {
        let state = &mut self.state;
        let reply = mem::take(&mut state.accumulator).finish(&mut Vec::new());
        let mut message = reply.message;
        let raw = mem::take(&mut state.raw);
        let text = visible_text(&message);
        if !text.trim().is_empty() {
            state.answer = text;
        }
        if !(message.content.is_empty() && raw.is_empty()) {
            message.raw = Some(raw).filter(|raw| !raw.is_empty());
            state.history.push(message);
        }
        state.phase = Phase::Working;
        let words = match state.cut {
            Some(Cut::Disconnect) => {
                Some("the connection ended before the model had finished its reply")
            }
            Some(Cut::Error) => Some("the model stopped with an error"),
            Some(Cut::Length | Cut::Filter | Cut::Cancelled) | None => None,
        };
        if state.model_error.is_none() {
            state.model_error = words.map(str::to_owned);
        }
        let error = state.model_error.clone();
        let iteration = state.iteration;
        let price = self
            .spec
            .price
            .map_or(0.0, |price| price.cost(&reply.usage));
        let cost = self.charge(price);
        let stop_reason = reply.stop_reason.unwrap_or(StopReason::Error);
        self.tell(EventKind::ModelCallEnd {
            iteration,
            purpose: Purpose::Reply,
            stop_reason,
            usage: reply.usage,
            cost,
            error,
        });
        self.state.scheduler.end_reply();
    }
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
