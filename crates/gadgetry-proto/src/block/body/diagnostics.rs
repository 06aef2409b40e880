//! Diagnostics of a finished body.

use std::ops::Range;

use super::{Body, BodyPart};
use crate::error::{Diagnostic, DiagnosticCode, Span};

impl Body {
    /// Returns the diagnostics of the finished body, in the order in which they are reported.
    pub(crate) fn diagnostics(&mut self) -> impl Iterator<Item = Diagnostic> {
        self.report_preamble();
        self.diagnostics.drain(..)
    }

    pub(super) fn report_preamble(&mut self) {
        if self.overflown {
            return;
        }
        if self.preamble == 0 && !self.arguments.is_empty() {
            return;
        }
        if self.arguments.is_empty() && !matches!(self.part, BodyPart::Pointer(_)) {
            if let Some(range) = self.json() {
                let span = self.span(range);
                self.report(
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
            self.report(
                DiagnosticCode::TextBeforeArguments,
                "Text before the first argument was ignored",
                span,
            );
        }
    }

    pub(super) fn report(&mut self, code: DiagnosticCode, message: &str, span: Span) {
        // Those of one rank stay in the order of the text.
        let before = |it: &Diagnostic| rank(it.code) <= rank(code);
        let at = self.diagnostics.partition_point(before);
        let message = message.to_owned();
        let diagnostic = Diagnostic {
            code,
            message,
            span,
        };
        self.diagnostics.insert(at, diagnostic);
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
        DiagnosticCode::FenceRemoved => 0,
        DiagnosticCode::TextBeforeArguments => 1,
        DiagnosticCode::JsonBody => 2,
        DiagnosticCode::PartialMarker => 3,
        DiagnosticCode::LenientValue
        | DiagnosticCode::NearMiss
        | DiagnosticCode::StrayMarker
        | DiagnosticCode::LimitExceeded
        | DiagnosticCode::CutHeader
        | DiagnosticCode::EscapedMarker
        | DiagnosticCode::Refusal
        | DiagnosticCode::MediaOmitted
        | DiagnosticCode::StrayReasoningEnd
        | DiagnosticCode::NativeCall
        | DiagnosticCode::RepeatedCall
        | DiagnosticCode::ExtraArguments
        | DiagnosticCode::ForeignCall
        | DiagnosticCode::HopelessCall
        | DiagnosticCode::RepeatedLines
        | DiagnosticCode::UndeclaredReference => 4,
    }
}
