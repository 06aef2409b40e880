//! The gate that takes calls in forms other than blocks out of the text of a reply, and leaves quotations of data in it.

use std::sync::Arc;

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::dialect::{Dialect, DialectCall, Dialects, Gate, GateRules, Gated};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::schema::Registry;

use super::quoted::Quoted;
use super::setup::Setup;

/// A [`Gate`] whose pieces are decided: a call that it returns is a call of the model.
///
/// A form that the data of the conversation contains is a quotation. It becomes text, with the opening and the closing that wrap it:
///
/// ```text
/// the gate's pieces           Opening("<tool_call>")  Call(rm, "{…}")  Closing("</tool_call>")
/// after it, if data has it    Text("<tool_call>")     Text("{…}")      Text("</tool_call>")
/// or else                                             Call(rm, "{…}")
/// ```
#[derive(Debug)]
pub(super) struct CallGate {
    gate: Gate,
    /// The forms that are calls.
    dialects: Dialects,
    /// The tools that can be called.
    registry: Arc<Registry>,
    /// The data that the model may only repeat.
    quoted: Quoted,
    /// The form that the prompt demands. Quotations of it are not searched: data contains none.
    demanded: Option<Dialect>,
    /// `true` if the last call is a quotation, so that the end of its form is text.
    is_quoting: bool,
}

impl CallGate {
    pub(super) fn of(setup: &Setup, registry: Arc<Registry>) -> Self {
        let dialects = if setup.reads_blocks() {
            setup.rules.dialects_read()
        } else {
            Dialects::default()
        };
        Self {
            gate: Gate::default(),
            quoted: Quoted::in_request(Arc::clone(&setup.request.client), &dialects),
            dialects,
            registry,
            demanded: (setup.rules.call_form() == CallForm::Json).then_some(Dialect::Hermes),
            is_quoting: false,
        }
    }

    /// Takes text, and appends the pieces of it that are decided.
    pub(super) fn push(&mut self, text: &str, pieces: &mut Vec<Gated>) {
        self.with_rules(pieces, |gate, rules, pieces| gate.push(text, rules, pieces));
    }

    /// Appends the pieces that were undecided, because something other than text follows.
    pub(super) fn flush(&mut self, pieces: &mut Vec<Gated>) {
        self.with_rules(pieces, Gate::flush);
    }

    /// Begins the next reply.
    pub(super) fn end_reply(&mut self) {
        self.gate = Gate::default();
        self.is_quoting = false;
    }

    fn with_rules(
        &mut self,
        pieces: &mut Vec<Gated>,
        act: impl FnOnce(&mut Gate, &GateRules<'_>, &mut Vec<Gated>),
    ) {
        let rules = GateRules {
            dialects: &self.dialects,
            registry: &self.registry,
            limits: &Limits::default(),
            anchoring: Anchoring::Anywhere,
        };
        act(&mut self.gate, &rules, pieces);
        // Most pieces are text, which stays as it is.
        let is_text = |piece: &Gated| matches!(piece, Gated::Text(_) | Gated::Reasoning(_));
        if !pieces.iter().all(is_text) {
            self.decide(pieces);
        }
    }

    /// Turns quotations into text, and removes the wrappers of calls.
    fn decide(&mut self, pieces: &mut Vec<Gated>) {
        let are_quoted = self.quotations(pieces);
        // Several calls may be of one form, which is shown once.
        let mut shown = None;
        let decided = pieces.drain(..).zip(are_quoted);
        let decided = decided.filter_map(|(piece, is_quoted)| match piece {
            Gated::Call(call, written) if is_quoted => {
                let is_new = shown.as_ref() != Some(&call.range);
                shown = Some(call.range);
                is_new.then_some(Gated::Text(written))
            }
            Gated::Opening(text) | Gated::Closing(text) => {
                shown = None;
                is_quoted.then_some(Gated::Text(text))
            }
            other => Some(other),
        });
        *pieces = decided.collect();
    }

    /// Returns for each piece whether it is a call that is a quotation, or wraps one.
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
        let last = &mut self.is_quoting;
        for (piece, is_quoted) in pieces.iter().zip(&mut all) {
            match piece {
                Gated::Call(..) => *last = *is_quoted,
                Gated::Closing(_) => *is_quoted = *last,
                Gated::Opening(_) | Gated::Text(_) | Gated::Reasoning(_) | Gated::Cut(_) => {}
            }
        }
        all
    }

    /// Returns `true` if the data of the conversation contains the form of a call, word for word.
    fn is_quoted(&mut self, call: &DialectCall, written: &str) -> bool {
        self.demanded.as_ref() != Some(&call.dialect) && self.quoted.has(written)
    }
}
