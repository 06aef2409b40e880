//! The oracle: reads a whole reply at once, as plainly as `docs/reply-format.md` can be written down.
//!
//! It keeps no state between chunks because there are none, looks at the text again as often as it likes, and is
//! not fast. Numbers such as "rule 6" are those of the section "Gadget block" there. Where that page leaves a
//! question open, the answer is marked with `DECIDED`.

mod block;
mod marker;
mod near_miss;
mod tag;

use gadgetry_proto::call::TerminatedBy;
use gadgetry_proto::error::{DiagnosticCode, Span};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::piece::EndReason;
use gadgetry_proto::reply::Format;
use near_miss::Place;
use std::ops::Range;

/// One thing in a reply, with all its deltas joined.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    Text(String),
    CallStart {
        name: String,
        id: String,
        dependencies: Vec<String>,
    },
    Argument {
        id: String,
        pointer: String,
        value: String,
    },
    Call {
        name: String,
        id: String,
        dependencies: Vec<String>,
        raw: String,
        /// Pointers and values, or that the block is malformed. A JSON body is the one pair `("", JSON)`.
        arguments: Result<Vec<(String, String)>, ()>,
        terminated_by: TerminatedBy,
        span: Span,
    },
    TagStart {
        block: u32,
        tag: String,
        attrs: Vec<(String, String)>,
    },
    TagContent {
        block: u32,
        content: String,
    },
    TagEnd {
        block: u32,
        tag: String,
        reason: EndReason,
    },
    Tag {
        block: u32,
        tag: String,
        content: String,
        attrs: Vec<(String, String)>,
        self_closing: bool,
    },
    Diagnostic(DiagnosticCode, Span),
}

/// Everything in a reply, in the order of the text.
pub fn read(text: &str, format: &Format) -> Vec<Seen> {
    let mut reader = Reader {
        text,
        format,
        seen: Vec::new(),
        auto_ids: 0,
        blocks: 0,
        erased: Vec::new(),
    };
    let mut at = 0;
    let mut lead = Lead::White;
    let first = reader.reasoning().next().cloned();
    if let Some(tag) = first
        && format.reasoning_open
        && !text.is_empty()
    {
        (at, lead) = reader.reason(Opening::before_the_reply(tag), Lead::Quiet);
    }
    loop {
        let Segment { seen, opener } = reader.prose(at);
        let has_text = reader.emit_segment(seen, lead, opener.as_ref());
        (at, lead) = match opener {
            Some(Opener::Gadget(header)) => (reader.gadget(&header), Lead::White),
            Some(Opener::Tag(opening)) if reader.is_reasoning(&opening.tag) => {
                let lead = if has_text { Lead::Text } else { Lead::Quiet };
                reader.reason(opening, lead)
            }
            Some(Opener::Tag(opening)) if opening.tag.starts_with('/') => {
                let Opening { start, behind, .. } = opening;
                let code = DiagnosticCode::StrayReasoningEnd;
                reader.seen.push(diagnostic(code, start, behind));
                reader.erased.push((start..behind, "\n"));
                (behind, Lead::Quiet)
            }
            Some(Opener::Tag(opening)) => (reader.tag(opening).0, Lead::Text),
            None => return capped(reader.seen, &format.limits),
        };
    }
}

/// Diagnostics beyond their cap are left out; a limit takes the place of the first of them.
fn capped(seen: Vec<Seen>, limits: &Limits) -> Vec<Seen> {
    let (mut misses, mut others) = (0, 0);
    let mut told = Vec::new();
    for seen in seen {
        if let Seen::Diagnostic(code, span) = seen {
            let is_miss = matches!(
                code,
                DiagnosticCode::NearMiss
                    | DiagnosticCode::StrayMarker
                    | DiagnosticCode::StrayReasoningEnd
            );
            let (count, limit) = if is_miss {
                (&mut misses, limits.near_misses)
            } else {
                (&mut others, limits.diagnostics)
            };
            *count += 1;
            if *count == limit + 1 {
                told.push(Seen::Diagnostic(DiagnosticCode::LimitExceeded, span));
            }
            if *count > limit {
                continue;
            }
        }
        if let Seen::Text(more) = &seen {
            push_text(&mut told, more);
        } else {
            told.push(seen);
        }
    }
    told
}

/// What whitespace is with which a stretch of prose begins.
#[derive(Clone, Copy, PartialEq)]
enum Lead {
    /// No text if nothing else stands in the segment.
    White,
    /// No text: nothing but reasoning stands before it.
    Quiet,
    Text,
}

/// The prose between two neighbours.
struct Segment {
    /// Texts and diagnostics.
    seen: Vec<Seen>,
    /// What ends it; nothing at the end of the reply.
    opener: Option<Opener>,
}

enum Opener {
    Gadget(Header),
    Tag(Opening),
}

/// The header of a gadget block.
struct Header {
    /// The first byte of the start marker.
    start: usize,
    /// The text between the start marker and the newline or end marker.
    line: String,
    /// Where the body begins, or, if an end marker ended the header, where the block ends.
    next: HeaderEnd,
}

enum HeaderEnd {
    Newline { body: usize },
    EndMarker { behind: usize },
}

/// An opening tag.
struct Opening {
    start: usize,
    tag: String,
    attrs: Vec<(String, String)>,
    self_closing: bool,
    /// Behind its `>`.
    behind: usize,
}

/// Why an opener is text after all.
#[derive(PartialEq)]
enum NotOpened {
    TooLong,
    /// Bad syntax, or the reply ends first.
    Otherwise,
}

#[derive(Clone, Copy, PartialEq)]
enum Marker {
    Start,
    End,
    Argument,
}

struct Reader<'a> {
    text: &'a str,
    format: &'a Format,
    seen: Vec<Seen>,
    auto_ids: u64,
    blocks: u32,
    /// Reasoning and what stands in its place where it matters what a line begins with.
    erased: Vec<(Range<usize>, &'static str)>,
}

// Prose

impl Reader<'_> {
    /// Reads prose from `at` to the next opener.
    fn prose(&self, mut from: usize) -> Segment {
        let begin = from;
        let mut seen = Vec::new();
        let mut at = from;
        while let Some(char) = self.text[at..].chars().next() {
            if self.marker_counts(Marker::Start, at) {
                match self.header(at) {
                    Ok(header) => {
                        let opener = Some(Opener::Gadget(header));
                        return Segment { seen, opener };
                    }
                    Err(why) => {
                        let behind = at + self.spelling(Marker::Start).len();
                        let code = match why {
                            NotOpened::TooLong => DiagnosticCode::LimitExceeded,
                            NotOpened::Otherwise => DiagnosticCode::CutHeader,
                        };
                        seen.push(diagnostic(code, at, behind));
                        push_text(&mut seen, &self.text[at..behind]);
                        (from, at) = (behind, behind);
                        continue;
                    }
                }
            }
            if let Some(tag) = self.tag_that_may_open(begin, at) {
                match self.opening(&tag, at) {
                    Ok(opening) => {
                        let opener = Some(Opener::Tag(opening));
                        return Segment { seen, opener };
                    }
                    Err(why) => {
                        if why == NotOpened::TooLong {
                            seen.push(diagnostic(DiagnosticCode::LimitExceeded, at, at + 1));
                        }
                        push_text(&mut seen, "<");
                        at += 1;
                        from = at;
                        continue;
                    }
                }
            }
            if let Some(marker) = self.escaped_marker(at) {
                // DECIDED: the literal marker is neither a near miss nor stray.
                let behind = at + 1 + self.spelling(marker).len();
                seen.push(diagnostic(DiagnosticCode::EscapedMarker, at, at + 1));
                push_text(&mut seen, &self.text[at + 1..behind]);
                (from, at) = (behind, behind);
                continue;
            }
            if let Some((code, behind)) = self.near_miss(from, at, Place::Prose)
                && !(at..behind).any(|at| {
                    self.marker_counts(Marker::Start, at)
                        || self.tag_that_may_open(begin, at).is_some()
                        || self.escaped_marker(at).is_some()
                })
            {
                push_text(&mut seen, &self.text[at..behind]);
                seen.push(diagnostic(code, at, behind));
                at = behind;
                continue;
            }
            push_text(&mut seen, &self.text[at..at + char.len_utf8()]);
            at += char.len_utf8();
        }
        Segment { seen, opener: None }
    }

    /// Whitespace alone is left out between gadget blocks, reasoning and ends of the reply. Returns whether the segment
    /// has text now.
    fn emit_segment(
        &mut self,
        mut segment: Vec<Seen>,
        lead: Lead,
        opener: Option<&Opener>,
    ) -> bool {
        let custom = match opener {
            Some(Opener::Tag(opening)) => {
                !self.is_reasoning(&opening.tag) && !opening.tag.starts_with('/')
            }
            Some(Opener::Gadget(_)) | None => false,
        };
        let alone = segment.len() == 1;
        match (lead, segment.first_mut()) {
            (Lead::White, Some(Seen::Text(text)))
                if alone
                    && text.chars().all(char::is_whitespace)
                    && text.len() <= self.format.limits.whitespace
                    && !custom =>
            {
                segment.clear();
            }
            (Lead::Quiet, Some(Seen::Text(text))) => {
                *text = text.trim_start().to_owned();
                if text.is_empty() {
                    segment.remove(0);
                }
            }
            _ => {}
        }
        let has_text = lead == Lead::Text || !segment.is_empty();
        self.seen.extend(segment);
        has_text
    }

    /// The header behind the start marker at `start`.
    fn header(&self, start: usize) -> Result<Header, NotOpened> {
        let begin = start + self.spelling(Marker::Start).len();
        let rest = &self.text[begin..];
        let newline = rest.find('\n');
        let end_marker = rest.find(self.spelling(Marker::End));
        let end = match (newline, end_marker) {
            (Some(newline), Some(end_marker)) => Some(newline.min(end_marker)),
            (end, None) | (None, end) => end,
        };
        let limit = self.format.limits.header;
        let Some(end) = end.filter(|&end| end <= limit) else {
            // DECIDED: with more than `limits.header` bytes behind the marker it is too long, even if the last of
            // them could begin an end marker.
            return Err(if rest.len() > limit {
                NotOpened::TooLong
            } else {
                NotOpened::Otherwise
            });
        };
        let next = if newline == Some(end) {
            HeaderEnd::Newline {
                body: begin + end + 1,
            }
        } else {
            HeaderEnd::EndMarker {
                behind: begin + end + self.spelling(Marker::End).len(),
            }
        };
        Ok(Header {
            start,
            line: rest[..end].to_owned(),
            next,
        })
    }
}

// Small change

fn is_blank(char: char) -> bool {
    char == ' ' || char == '\t'
}

fn span(start: usize, end: usize) -> Span {
    Span {
        start: start as u64,
        end: end as u64,
    }
}

fn diagnostic(code: DiagnosticCode, start: usize, end: usize) -> Seen {
    Seen::Diagnostic(code, span(start, end))
}

fn push_text(seen: &mut Vec<Seen>, more: &str) {
    if let Some(Seen::Text(text)) = seen.last_mut() {
        text.push_str(more);
    } else {
        seen.push(Seen::Text(more.to_owned()));
    }
}
