//! What is noteworthy about a finished body.

use std::ops::Range;

use super::{Body, Part};
use crate::block::near_miss;
use crate::block::near_miss::Suspect;
use crate::block::search::MarkerSearch;
use crate::error::{Diagnostic, DiagnosticCode, Span};

impl Body {
    /// Tells what is noteworthy about the finished body.
    pub(crate) fn diagnostics(&mut self, search: &MarkerSearch, mut out: impl FnMut(Diagnostic)) {
        self.tell_preamble();
        self.tell_near_misses(search);
        // The sort is stable: escapes come in their order, then the rest in the documented order.
        self.diagnostics
            .sort_by_key(|diagnostic| rank(diagnostic.code));
        self.diagnostics.drain(..).for_each(&mut out);
    }

    pub(super) fn tell_preamble(&mut self) {
        if self.overflown {
            return;
        }
        if self.arguments.is_empty() && !matches!(self.part, Part::Pointer(_)) {
            if let Some(range) = self.json() {
                let span = self.span(range);
                self.tell(
                    DiagnosticCode::JsonBody,
                    "The JSON body was taken as the parameters",
                    span,
                );
            }
            return;
        }
        let text = &self.text[..self.preamble];
        let trimmed = text.trim();
        if !trimmed.is_empty() {
            let start = text.len() - text.trim_start().len();
            let span = self.span(start..start + trimmed.len());
            self.tell(
                DiagnosticCode::TextBeforeArguments,
                "Text before the first argument was ignored",
                span,
            );
        }
    }

    pub(super) fn tell_near_misses(&mut self, search: &MarkerSearch) {
        let Some(lead) = search.lead else { return };
        for at in std::mem::take(&mut self.suspects) {
            let text = self.text.as_bytes();
            let mut suspect = Suspect::at(self.base + at as u64);
            let behind = at + suspect.extend(&text[at..], lead);
            let next = text.get(behind).copied();
            if let Some((code, message)) = near_miss::classify(search, lead, &suspect, next, false)
            {
                self.diagnostics.push(Diagnostic {
                    code,
                    message,
                    span: suspect.span(),
                });
            }
        }
    }

    pub(super) fn tell(&mut self, code: DiagnosticCode, message: &str, span: Span) {
        self.diagnostics.push(Diagnostic {
            code,
            message: message.to_owned(),
            span,
        });
    }

    pub(super) fn span(&self, range: Range<usize>) -> Span {
        Span {
            start: self.base + range.start as u64,
            end: self.base + range.end as u64,
        }
    }
}

fn rank(code: DiagnosticCode) -> u8 {
    match code {
        DiagnosticCode::EscapedMarker => 0,
        DiagnosticCode::FenceRemoved => 1,
        DiagnosticCode::TextBeforeArguments => 2,
        DiagnosticCode::JsonBody => 3,
        DiagnosticCode::PartialMarker => 4,
        DiagnosticCode::NearMiss | DiagnosticCode::StrayMarker | DiagnosticCode::LimitExceeded => 5,
    }
}
