//! Text that looks like a marker: found in prose as it is emitted, without holding anything.

use serde::{Deserialize, Serialize};

use crate::block::{MarkerSearch, Suspect, classify};
use crate::error::Diagnostic;
use crate::reply::ReplyEvent;
use crate::reply::emit::Emitter;

/// A run of the lead character, and its word, at the end of the prose so far. Both are already emitted as text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Suspects(Option<Suspect>);

impl Suspects {
    /// Returns `true` if the prose so far ends in a suspect.
    pub(super) fn is_any(&self) -> bool {
        self.0.is_some()
    }

    /// Emits prose that begins at `offset` of the reply, and a diagnostic after each near miss in it.
    ///
    /// A word is judged when the byte after it has come, since `:` may make a marker of it. With the pieces `"see !!GADG"`
    /// and `"ET_START: x"`, the first is emitted whole and leaves the suspect `!!GADG`; of the second, `ET_START` extends
    /// it, `:` shows that it is a near miss, and so the events are `see !!GADG`, `ET_START`, the diagnostic, `: x`. Cut
    /// elsewhere, the text and the place of the diagnostic in it are the same.
    pub(super) fn read(
        &mut self,
        text: &str,
        offset: u64,
        search: &MarkerSearch,
        out: &mut Emitter<'_>,
    ) {
        let Some(lead) = search.lead else {
            return out.text(text);
        };
        let bytes = text.as_bytes();
        let (mut from, mut at) = (0, 0);
        loop {
            let suspect = match &mut self.0 {
                Some(suspect) => suspect,
                none => {
                    let Some(found) = search.candidate(bytes, at) else {
                        break;
                    };
                    at = found;
                    none.insert(Suspect::at(offset + found as u64))
                }
            };
            at += suspect.extend(&bytes[at..], lead);
            let Some(next) = bytes.get(at) else { break };
            if let Some(diagnostic) = self.judge(search, Some(*next), out) {
                out.text(&text[from..at]);
                from = at;
                out.event(ReplyEvent::Diagnostic(diagnostic));
            }
        }
        out.text(&text[from..]);
    }

    /// The prose ends, and `next` follows it: the word is whole.
    pub(super) fn finish(
        &mut self,
        next: Option<u8>,
        search: &MarkerSearch,
        out: &mut Emitter<'_>,
    ) {
        if let Some(diagnostic) = self.judge(search, next, out) {
            out.event(ReplyEvent::Diagnostic(diagnostic));
        }
    }

    fn judge(
        &mut self,
        search: &MarkerSearch,
        next: Option<u8>,
        out: &mut Emitter<'_>,
    ) -> Option<Diagnostic> {
        let suspect = self.0.take()?;
        let (code, message) = classify(search, search.lead?, &suspect, next, true)?;
        let span = suspect.span();
        let diagnostic = Diagnostic {
            code,
            message,
            span,
        };
        out.misses.admit(diagnostic, out.limits)
    }
}
