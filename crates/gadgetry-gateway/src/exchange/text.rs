//! Text of a reply on its way to the client.

use std::mem;
use std::sync::Arc;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::dialect::Gated;
use gadgetry_proto::schema::Registry;

use super::call_gate::CallGate;
use super::setup::Setup;
use super::stops::Stops;

/// The path of text: [`CallGate`], then [`Stops`], then [`Opening`].
#[derive(Debug)]
pub(super) struct TextOut {
    gate: CallGate,
    stops: Stops,
    opening: Opening,
    /// `true` if the reply must have a call, and has none yet.
    awaits_call: bool,
    /// Text of a repair turn, which the client sees only if nothing else follows; `None` in the first reply.
    repair: Option<String>,
    /// `true` right after the end marker of a block, whose line break is part of the block.
    after_block: bool,
    /// Pieces that the gate has let through, until they are taken.
    pieces: Vec<Gated>,
}

/// The beginning of the client's text.
#[derive(Debug)]
enum Opening {
    /// All text so far is blank. It is sent with the first text that is not.
    Blank(String),
    /// Text before the call that the reply must have. A reply without a call is an error, which needs its own status.
    Withheld(String),
    /// The client receives text as it arrives.
    Over,
}

impl TextOut {
    pub(super) fn of(setup: &Setup, registry: Arc<Registry>) -> Self {
        let stops = if setup.reads_blocks() {
            setup.client().options.stop.clone()
        } else {
            Vec::new()
        };
        Self {
            gate: CallGate::of(setup, registry),
            stops: Stops::new(stops),
            opening: Opening::Blank(String::new()),
            awaits_call: setup.is_forced() && setup.client().may_call(),
            repair: None,
            after_block: false,
            pieces: Vec::new(),
        }
    }

    /// Takes text of the reader. [`TextOut::take_pieces`] returns the decided pieces.
    pub(super) fn push(&mut self, text: &str) {
        let mut text = text;
        if self.after_block && !text.is_empty() {
            self.after_block = false;
            text = text.strip_prefix('\n').unwrap_or(text);
        }
        self.gate.push(text, &mut self.pieces);
    }

    /// Decides text that the gate keeps, because something other than text follows.
    pub(super) fn flush_gate(&mut self) {
        self.gate.flush(&mut self.pieces);
    }

    /// Decides about a form with which a reply ends, if the reply was cut off.
    pub(super) fn end_gate(&mut self, is_clean: bool) {
        if !is_clean {
            self.gate.cut_off(&mut self.pieces);
        }
    }

    /// Takes the pieces that have passed the gate. Text among them goes to [`TextOut::shown`].
    pub(super) fn take_pieces(&mut self) -> Vec<Gated> {
        mem::take(&mut self.pieces)
    }

    /// Keeps the memory of pieces for the next ones.
    pub(super) fn recycle(&mut self, mut pieces: Vec<Gated>) {
        pieces.clear();
        self.pieces = pieces;
    }

    /// Notes the end of a block.
    pub(super) fn end_block(&mut self) {
        self.after_block = true;
    }

    /// Takes visible text, and returns the part that the client receives now.
    pub(super) fn shown(&mut self, text: String) -> Option<Delta> {
        let text = self.stops.push(text);
        self.open(text)
    }

    /// Returns text that was kept because it looked like the beginning of a stop sequence.
    pub(super) fn flush_stops(&mut self) -> Option<Delta> {
        let text = self.stops.finish();
        self.open(text)
    }

    fn open(&mut self, text: String) -> Option<Delta> {
        if text.is_empty() {
            return None;
        }
        if let Some(repair) = &mut self.repair {
            repair.push_str(&text);
            return None;
        }
        let text = match &mut self.opening {
            Opening::Over => text,
            Opening::Withheld(withheld) => {
                withheld.push_str(&text);
                return None;
            }
            Opening::Blank(blank) => {
                // What came before is blank, so only the new text decides.
                let is_blank = text.trim().is_empty();
                blank.push_str(&text);
                if is_blank {
                    return None;
                }
                let text = mem::take(blank);
                if self.awaits_call {
                    self.opening = Opening::Withheld(text);
                    return None;
                }
                self.opening = Opening::Over;
                text
            }
        };
        Some(Delta::text(text))
    }

    /// Returns the text that was withheld until the first call, or the end of a reply that was cut off before one.
    pub(super) fn release(&mut self) -> Option<Delta> {
        self.awaits_call = false;
        let Opening::Withheld(text) = &mut self.opening else {
            return None;
        };
        let text = mem::take(text);
        self.opening = Opening::Over;
        Some(Delta::text(text))
    }

    /// Returns the stop sequence of the client that has ended the reply.
    pub(super) fn stop_sequence(&self) -> Option<&str> {
        self.stops.found()
    }

    /// Returns `true` if a reply had visible text.
    pub(super) fn has_text(&self) -> bool {
        let is_repaired = |text: &String| !text.trim().is_empty();
        self.repair.as_ref().is_some_and(is_repaired) || !matches!(self.opening, Opening::Blank(_))
    }

    /// Returns `true` if the reply has text with the form of a call.
    pub(super) fn has_form(&self) -> bool {
        self.gate.has_form()
    }

    /// Begins the next reply of the upstream.
    pub(super) fn end_reply(&mut self) {
        self.gate.end_reply();
    }

    /// Begins a repair turn, whose text is kept.
    pub(super) fn begin_repair(&mut self) {
        self.repair = Some(String::new());
    }

    /// Returns the text of the repair turn.
    pub(super) fn take_repair(&mut self) -> Option<Delta> {
        let text = mem::take(self.repair.as_mut()?);
        (!text.trim().is_empty()).then(|| Delta::text(text))
    }
}
