//! The one way out of the scanner: every event passes here.

use serde::{Deserialize, Serialize};

use crate::block::{LinePrefix, MissCount};
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::limits::{LimitExceeded, Limits};
use crate::reply::ReplyEvent;

/// The consumer of events. A trait object, so that the scanner is compiled once and not for each caller; the short cut of
/// [`crate::reply::Scanner::push`] does without it.
pub(super) type Sink<'a> = dyn FnMut(ReplyEvent<'_>) + 'a;

/// The text before the current place of the prose. It lasts while a block or a tag is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Around {
    /// The part of the line before the held text, or before the opener.
    pub(super) line: LinePrefix,
    /// Whether the last byte before the held text is a backtick.
    pub(super) ticked: bool,
    pub(super) segment: Segment,
    /// Whitespace that may be alone between blocks; only while the segment is blank.
    white: String,
}

/// The prose since the last block or tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Segment {
    /// Whitespace so far, which is dropped if a block follows.
    Blank,
    /// Whitespace so far, after reasoning: it is dropped, whatever follows.
    Quiet,
    /// The segment has text.
    Text,
}

impl Default for Around {
    fn default() -> Self {
        Self {
            line: LinePrefix::Blank(0),
            ticked: false,
            segment: Segment::Blank,
            white: String::new(),
        }
    }
}

impl Around {
    /// Drops whitespace that turned out to be alone.
    pub(super) fn drop_white(&mut self) {
        self.white.clear();
    }

    /// Begins a reply. The memory is kept.
    pub(super) fn begin_reply(&mut self) {
        self.white.clear();
        (self.line, self.ticked, self.segment) = (LinePrefix::Blank(0), false, Segment::Blank);
    }
}

/// Emits events, and decides which whitespace and which diagnostics are emitted.
pub(super) struct Emitter<'a> {
    pub(super) limits: &'a Limits,
    pub(super) around: &'a mut Around,
    pub(super) misses: &'a mut MissCount,
    pub(super) sink: &'a mut Sink<'a>,
}

impl Emitter<'_> {
    /// Emits text, unless it is whitespace that may be alone.
    pub(super) fn text(&mut self, mut text: &str) {
        if self.around.segment == Segment::Quiet {
            text = text.trim_start();
        }
        if text.is_empty() {
            return;
        }
        if self.around.segment == Segment::Blank {
            let total = self.around.white.len() + text.len();
            let is_white = text.bytes().all(|byte| byte.is_ascii_whitespace());
            if total <= self.limits.whitespace && (is_white || text.trim_start().is_empty()) {
                self.around.white.push_str(text);
                return;
            }
        }
        self.begin_text();
        (self.sink)(ReplyEvent::Text(text));
    }

    /// The segment is text, with the whitespace that was kept for it.
    pub(super) fn begin_text(&mut self) {
        self.around.segment = Segment::Text;
        if !self.around.white.is_empty() {
            (self.sink)(ReplyEvent::Text(&self.around.white));
            self.around.white.clear();
        }
    }

    /// Drops whitespace from here on until there is text.
    pub(super) fn begin_quiet(&mut self) {
        self.around.white.clear();
        self.around.segment = Segment::Quiet;
    }

    pub(super) fn event(&mut self, event: ReplyEvent<'_>) {
        (self.sink)(event);
    }

    /// Emits a diagnostic, unless the reply has had too many.
    pub(super) fn diagnostic(&mut self, diagnostic: Diagnostic) {
        if let Some(diagnostic) = self.misses.admit(diagnostic, self.limits) {
            (self.sink)(ReplyEvent::Diagnostic(diagnostic));
        }
    }

    /// Emits that text at `span`, which is an opener or a part of one, passed a cap.
    pub(super) fn limit(&mut self, exceeded: &LimitExceeded, span: Span) {
        self.begin_text();
        self.diagnostic(Diagnostic {
            code: DiagnosticCode::LimitExceeded,
            message: exceeded.to_string(),
            span,
        });
    }
}
