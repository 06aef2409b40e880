//! The values of a body: what of them may be emitted, and where they end.

use super::lines::{held_newline, line_of, without_newline};
use super::{Body, BodyPart, Partial, Sink};
use crate::block::Anchoring;
use crate::block::fence;
use crate::block::fence::Fence;
use crate::block::near_miss::Suspect;
use crate::block::near_miss::classify;
use crate::block::search::Lead;
use crate::block::search::MarkerSearch;
use crate::error::DiagnosticCode;
use crate::limits::Limits;

impl Body {
    pub(super) fn remove_fence(
        &mut self,
        start: usize,
        end: usize,
        fence: Fence,
        limits: &Limits,
    ) -> usize {
        let Some(line) = fence::closing(&self.text[start..end], fence.ticks, limits.indent) else {
            return end;
        };
        self.preamble = fence.at;
        let span = self.span(start + line..end);
        self.report(
            DiagnosticCode::FenceRemoved,
            "A code fence around all arguments was removed",
            span,
        );
        without_newline(&self.text, start, start + line)
    }

    pub(super) fn finish_value(&mut self, end: usize, out: &mut Sink<'_>) {
        if let Some(argument) = self.arguments.last_mut() {
            argument.value.end = end;
        }
        self.emit_part(self.emitted.min(end), end, true, out);
    }

    pub(super) fn emit(&mut self, end: usize, out: &mut Sink<'_>) {
        if matches!(self.part, BodyPart::Value(_)) && end > self.emitted {
            self.emit_part(self.emitted, end, false, out);
        }
    }

    fn emit_part(&mut self, start: usize, end: usize, complete: bool, out: &mut Sink<'_>) {
        if !self.pointer.is_empty() {
            let begins = matches!(self.part, BodyPart::Value(value) if value == start);
            out(Partial {
                pointer: &self.pointer,
                delta: &self.text[start..end],
                complete,
                head: begins.then(|| &self.text[..start]),
            });
        }
        self.emitted = end;
    }

    /// Up to where the current value cannot change any more.
    pub(super) fn safe_end(&self, search: &MarkerSearch, limits: &Limits) -> usize {
        let BodyPart::Value(start) = self.part else {
            return 0;
        };
        let mut end = self.scan;
        if search.anchoring == Anchoring::LineStart {
            end = line_of(&self.text, start, end, limits.indent, |byte| {
                matches!(byte, b' ' | b'\t' | b'\\')
            });
        }
        end = held_newline(&self.text, start, end);
        if self.fence.is_some() {
            let line = line_of(&self.text, start, end, limits.indent, |byte| {
                matches!(byte, b' ' | b'\t' | b'`')
            });
            if line < end {
                end = held_newline(&self.text, start, line);
            }
        }
        end
    }

    /// A backslash before the marker at `at`, at the start of a line.
    pub(super) fn escape(&mut self, at: usize, search: &MarkerSearch, out: &mut Sink<'_>) {
        if !matches!(self.part, BodyPart::Value(_)) || self.overflown {
            return;
        }
        self.finish_suspect(at - 1, search);
        self.emit(at - 1, out);
        self.emitted = at;
        self.escapes.push(at - 1);
    }

    /// A run that is not a marker begins at `at`.
    pub(super) fn suspect(&mut self, at: usize, search: &MarkerSearch) {
        let in_value = matches!(self.part, BodyPart::Value(_)) && !self.overflown;
        let Some(lead) = search.lead.filter(|_| in_value && self.room > 0) else {
            return;
        };
        if at == 0 || self.text.as_bytes()[at - 1] != lead.byte {
            self.finish_suspect(at, search);
            self.suspect = (self.room > 0).then_some(at);
        }
    }

    /// The text before `end` is value, so the suspect can be classified. If it runs past `end`, it is
    /// not a near miss.
    #[inline]
    pub(super) fn finish_suspect(&mut self, end: usize, search: &MarkerSearch) {
        if let (Some(at), Some(lead)) = (self.suspect.take(), search.lead) {
            self.judge(at, lead, end, search);
        }
    }

    fn judge(&mut self, at: usize, lead: Lead, end: usize, search: &MarkerSearch) {
        let text = self.text.as_bytes();
        let mut suspect = Suspect::at(self.base + at as u64);
        let past = at + suspect.extend(&text[at..], lead);
        let next = text.get(past).copied();
        if past > end {
            return;
        }
        if let Some((code, message)) = classify(search, lead, &suspect, next, false) {
            self.report(code, &message, suspect.span());
            self.room -= 1;
        }
    }
}
