//! Text of a reply on its way to the client, through the gate that takes calls in other forms out of it.

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::call::Parameters;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::dialect::{Dialect, DialectCall, Gate, Gated, Rules};
use gadgetry_proto::limits::Limits;

use super::Exchange;

/// What is wrong with a call that the end of the reply has cut off.
const CUT: &str = "the reply ended inside the call; write it again, whole";

impl Exchange {
    /// Lets the gate do something, and takes what comes through it.
    pub(super) fn gated(
        &mut self,
        act: impl FnOnce(&mut Gate, &Rules<'_>, &mut Vec<Gated>),
        out: &mut Vec<Delta>,
    ) {
        let mut pieces = std::mem::take(&mut self.pieces);
        let rules = Rules {
            dialects: &self.dialects,
            registry: &self.registry,
            limits: &Limits::default(),
            anchoring: Anchoring::Anywhere,
        };
        act(&mut self.gate, &rules, &mut pieces);
        let are_quoted = self.quotations(&pieces);
        // Several calls may be of one form, which is shown once.
        let mut shown = None;
        for (piece, is_quoted) in pieces.drain(..).zip(are_quoted) {
            match piece {
                Gated::Call(call, written) if is_quoted => {
                    if shown.as_ref() != Some(&call.range) {
                        let text = self.stops.push(written);
                        self.show(text, out);
                    }
                    shown = Some(call.range);
                }
                Gated::Opening(text) | Gated::Closing(text) => {
                    shown = None;
                    if is_quoted {
                        let text = self.stops.push(text);
                        self.show(text, out);
                    }
                }
                Gated::Text(text) => {
                    let text = self.stops.push(text);
                    self.show(text, out);
                }
                Gated::Reasoning(delta) => {
                    if !self.is_repair() {
                        self.start(out);
                        out.push(Delta::Reasoning {
                            delta,
                            metadata: None,
                        });
                    }
                }
                Gated::Call(call, _) => {
                    let kept = self.stops.finish();
                    self.show(kept, out);
                    let checked = match call.parameters {
                        _ if !call.is_whole => Err(CUT.to_owned()),
                        Parameters::Parsed(input) => self.checked(&call.gadget_name, input),
                        Parameters::Malformed(problem) => Err(problem),
                    };
                    self.decide(String::new(), &call.gadget_name, checked, out);
                }
                Gated::Cut(_) => {
                    self.turn.near_miss.get_or_insert_with(|| CUT.to_owned());
                }
            }
        }
        self.pieces = pieces;
    }

    /// Which pieces are calls that are quotations, or wrap one.
    fn quotations(&mut self, pieces: &[Gated]) -> Vec<bool> {
        let is_quoted = |piece: &Gated| matches!(piece, Gated::Call(call, written) if self.is_quoted(call, written));
        let mut all: Vec<bool> = pieces.iter().map(is_quoted).collect();
        let mut next = false;
        for (piece, is_quoted) in pieces.iter().zip(&mut all).rev() {
            match piece {
                Gated::Call(..) => next = *is_quoted,
                Gated::Opening(_) => *is_quoted = next,
                Gated::Closing(_) | Gated::Text(_) | Gated::Reasoning(_) | Gated::Cut(_) => {}
            }
        }
        let last = &mut self.turn.is_quoting;
        for (piece, is_quoted) in pieces.iter().zip(&mut all) {
            match piece {
                Gated::Call(..) => *last = *is_quoted,
                Gated::Closing(_) => *is_quoted = *last,
                Gated::Opening(_) | Gated::Text(_) | Gated::Reasoning(_) | Gated::Cut(_) => {}
            }
        }
        all
    }

    /// Whether a call is in the data of the conversation, word by word. The form that the prompt demands is not looked for: data has none.
    fn is_quoted(&mut self, call: &DialectCall, written: &str) -> bool {
        let is_demanded =
            self.setup.rules.call_form() == CallForm::Json && call.dialect == Dialect::Hermes;
        !is_demanded && self.quoted.has(written)
    }

    /// Text for the client. That of a repair turn is kept until its end.
    pub(super) fn show(&mut self, text: String, out: &mut Vec<Delta>) {
        if text.is_empty() {
            return;
        }
        if self.is_repair() {
            self.turn.text.push_str(&text);
            return;
        }
        let text = if self.has_text {
            text
        } else {
            // What came before is blank, so only the new text decides.
            self.blank.push_str(&text);
            if text.trim().is_empty() {
                return;
            }
            self.has_text = true;
            std::mem::take(&mut self.blank)
        };
        if self.setup.request.choice.kind.is_forced()
            && self.sent.is_empty()
            && self.setup.request.may_call()
        {
            // Without a call the reply will be an error, which needs a status.
            self.withheld.push_str(&text);
            return;
        }
        self.start(out);
        out.push(Delta::text(text));
    }
}
