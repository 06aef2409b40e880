//! The oracle: reads a whole reply at once, as plainly as `docs/reply-format.md` can be written down.
//!
//! It keeps no state between chunks because there are none, looks at the text again as often as it likes, and is
//! not fast. Numbers such as "rule 6" are those of the section "Gadget block" there. Where that page leaves a
//! question open, the answer is marked with `DECIDED`.

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::call::TerminatedBy;
use gadgetry_proto::delta::EndReason;
use gadgetry_proto::error::{DiagnosticCode, Span};
use gadgetry_proto::reply::Format;

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
    };
    let mut at = 0;
    let mut before = Neighbour::GadgetOrEnd;
    loop {
        let segment = reader.prose(at);
        let after = match segment.opener {
            Some(Opener::Tag(_)) => Neighbour::Custom,
            Some(Opener::Gadget(_)) | None => Neighbour::GadgetOrEnd,
        };
        reader.emit_segment(segment.seen, before, after);
        before = after;
        at = match segment.opener {
            Some(Opener::Gadget(header)) => reader.gadget(&header),
            Some(Opener::Tag(opening)) => reader.tag(opening),
            None => return reader.seen,
        };
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Neighbour {
    GadgetOrEnd,
    Custom,
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

/// An argument of a gadget block.
struct Argument {
    /// Trimmed.
    pointer: String,
    /// The value as a range of the reply; nothing if the end of the reply cut the pointer.
    value: Option<(usize, usize)>,
    /// The first byte of the marker behind it, or the end of the reply.
    until: usize,
}

struct Reader<'a> {
    text: &'a str,
    format: &'a Format,
    seen: Vec<Seen>,
    auto_ids: u32,
    blocks: u32,
}

// Prose

impl Reader<'_> {
    /// Reads prose from `at` to the next opener.
    fn prose(&self, mut from: usize) -> Segment {
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
                        if why == NotOpened::TooLong {
                            seen.push(diagnostic(DiagnosticCode::LimitExceeded, at, behind));
                        }
                        push_text(&mut seen, &self.text[at..behind]);
                        (from, at) = (behind, behind);
                        continue;
                    }
                }
            }
            if let Some(tag) = self.tag_that_may_open(at) {
                match self.opening(tag, at) {
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
                    self.marker_counts(Marker::Start, at) || self.tag_that_may_open(at).is_some()
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

    /// White space alone between gadget blocks and ends of the reply is left out.
    fn emit_segment(&mut self, segment: Vec<Seen>, before: Neighbour, after: Neighbour) {
        if let [Seen::Text(text)] = segment.as_slice()
            && text.chars().all(char::is_whitespace)
            && text.len() <= self.format.limits.whitespace
            && before == Neighbour::GadgetOrEnd
            && after == Neighbour::GadgetOrEnd
        {
            return;
        }
        self.seen.extend(segment);
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

// Markers

impl Reader<'_> {
    /// The marker's text; only called if there are markers.
    fn spelling(&self, marker: Marker) -> &str {
        let markers = self.format.markers.as_ref().expect("markers are set");
        match marker {
            Marker::Start => markers.start(),
            Marker::End => markers.end(),
            Marker::Argument => markers.arg(),
        }
    }

    /// Whether the marker's text stands at `at`, whatever stands before it.
    fn stands(&self, marker: Marker, at: usize) -> bool {
        self.format.markers.is_some()
            && self.text.is_char_boundary(at)
            && self.text[at..].starts_with(self.spelling(marker))
    }

    /// Whether `at` holds a marker that counts.
    fn marker_counts(&self, marker: Marker, at: usize) -> bool {
        if !self.stands(marker, at) {
            return false;
        }
        match self.format.anchoring {
            Anchoring::Anywhere => true,
            Anchoring::LineStart => {
                let before = &self.text[self.line_start(at)..at];
                before.chars().all(is_blank) && before.len() <= self.format.limits.indent
            }
        }
    }

    /// The marker behind the backslash at `at`, if that backslash is to be removed.
    fn escaped_marker(&self, at: usize) -> Option<Marker> {
        if self.text.as_bytes()[at] != b'\\' {
            return None;
        }
        let marker = ALL
            .into_iter()
            .find(|&marker| self.stands(marker, at + 1))?;
        let before = &self.text[self.line_start(at)..=at];
        let escapes = self.format.anchoring == Anchoring::LineStart
            && before
                .trim_end_matches('\\')
                .trim_start_matches(is_blank)
                .is_empty()
            && before.len() <= self.format.limits.indent;
        escapes.then_some(marker)
    }

    /// The first marker at or behind `from` that counts in a body.
    fn next_marker(&self, from: usize) -> Option<(Marker, usize)> {
        (from..self.text.len()).find_map(|at| {
            let marker = ALL
                .into_iter()
                .find(|&marker| self.marker_counts(marker, at))?;
            Some((marker, at))
        })
    }

    /// The first byte of the line that holds `at`.
    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }
}

const ALL: [Marker; 3] = [Marker::Start, Marker::End, Marker::Argument];

// Near misses

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Prose,
    Value,
}

const ENVELOPES: [&str; 13] = [
    "TOOL_START",
    "TOOL_CALL",
    "TOOL_BEGIN",
    "FUNCTION_START",
    "FUNCTION_CALL",
    "GADGET_CALL",
    "GADGET_BEGIN",
    "GADGET",
    "CALL_START",
    "ACTION_START",
    "TOOL",
    "FUNCTION",
    "INVOKE",
];

impl Reader<'_> {
    /// What is wrong with the run and word that begin at `at`, and where the word ends. Nothing before `from` is
    /// looked at: it is no prose, a literal marker, or of another value.
    fn near_miss(&self, from: usize, at: usize, place: Place) -> Option<(DiagnosticCode, usize)> {
        let (char, exact_run) = self.common_run()?;
        let rest = &self.text[at..];
        let run = run_length(rest, char);
        if run < 2 || self.text[from..at].ends_with(char) {
            return None;
        }
        let word: &str = word_at(&rest[run..]);
        if word.is_empty() || word.len() > 40 {
            return None;
        }
        // DECIDED: the end of the reply is "something else" too.
        let behind = at + run + word.len();
        let next = self.text[behind..].chars().next();

        // DECIDED: "exact" means the run too, so `!!!!GADGET_END` in prose is a near miss.
        let exact = |marker| {
            run == exact_run && self.stands(marker, at) && {
                word == word_at(&self.spelling(marker)[exact_run..])
            }
        };
        if place == Place::Prose && (exact(Marker::End) || exact(Marker::Argument)) {
            return Some((DiagnosticCode::StrayMarker, behind));
        }
        let resembles = ALL.into_iter().any(|marker| {
            let spelling = &self.spelling(marker)[exact_run..];
            let marker_word = word_at(spelling);
            let tail = spelling[marker_word.len()..].chars().next();
            !marker_word.is_empty()
                && fold(word) == fold(marker_word)
                && (tail.is_none() || tail == next)
        });
        let envelope = run == exact_run && ENVELOPES.contains(&word) && next == Some(':');
        (resembles || envelope).then_some((DiagnosticCode::NearMiss, behind))
    }

    /// The character and length of the run with which all three markers begin.
    fn common_run(&self) -> Option<(char, usize)> {
        let markers = self.format.markers.as_ref()?;
        let char = markers.start().chars().next()?;
        let length = run_length(markers.start(), char);
        let common = char.is_ascii_punctuation()
            && !"_-".contains(char)
            && length >= 2
            && run_length(markers.end(), char) == length
            && run_length(markers.arg(), char) == length;
        common.then_some((char, length))
    }
}

/// How many bytes at the start are `char`, which is ASCII.
fn run_length(text: &str, char: char) -> usize {
    text.len() - text.trim_start_matches(char).len()
}

/// The word with which the text begins.
fn word_at(text: &str) -> &str {
    let rest =
        text.trim_start_matches(|char: char| char.is_ascii_alphanumeric() || "_-".contains(char));
    &text[..text.len() - rest.len()]
}

/// The word without case, `_` and `-`.
fn fold(word: &str) -> String {
    word.replace(['_', '-'], "").to_ascii_uppercase()
}

// Gadget blocks

impl Reader<'_> {
    /// Reads a block and says where reading goes on.
    fn gadget(&mut self, header: &Header) -> usize {
        // Rule 2.
        let mut parts = header.line.trim().split(':').map(str::trim);
        let name = parts.next().unwrap_or_default().to_owned();
        let mut id = parts.next().unwrap_or_default().to_owned();
        if id.is_empty() {
            self.auto_ids += 1;
            id = format!("gadget_{}", self.auto_ids);
        }
        let mut dependencies: Vec<String> = Vec::new();
        for dependency in parts.flat_map(|part| part.split(',')).map(str::trim) {
            if !dependency.is_empty() && !dependencies.iter().any(|known| known == dependency) {
                dependencies.push(dependency.to_owned());
            }
        }
        self.seen.push(Seen::CallStart {
            name: name.clone(),
            id: id.clone(),
            dependencies: dependencies.clone(),
        });

        let (body_start, body_end, behind, terminated_by) = match header.next {
            HeaderEnd::EndMarker { behind } => (behind, behind, behind, TerminatedBy::EndMarker),
            HeaderEnd::Newline { body } => {
                let (end, behind, terminated_by) = self.body_end(body);
                (body, end, behind, terminated_by)
            }
        };
        let body = self.body(&id, body_start, body_end);
        let mut raw = self.text[body_start..body_end].to_owned();
        let mut diagnostics = body.diagnostics;
        if raw.len() > self.format.limits.block {
            // DECIDED: nothing of the raw text is left, and nothing is said about what is dropped.
            raw.clear();
            diagnostics.clear();
        }
        self.seen.extend(body.arguments_seen);
        self.seen.extend(diagnostics);
        self.seen.push(Seen::Call {
            name,
            id,
            dependencies,
            raw,
            arguments: body.arguments,
            terminated_by,
            span: span(header.start, behind),
        });
        behind
    }

    /// Rule 3: where the body ends, where the block ends, and why.
    fn body_end(&self, from: usize) -> (usize, usize, TerminatedBy) {
        let mut at = from;
        loop {
            match self.next_marker(at) {
                Some((Marker::Start, start)) => return (start, start, TerminatedBy::NextStart),
                Some((Marker::End, end)) => {
                    let behind = end + self.spelling(Marker::End).len();
                    return (end, behind, TerminatedBy::EndMarker);
                }
                Some((Marker::Argument, argument)) => {
                    at = argument + self.spelling(Marker::Argument).len();
                }
                None => return (self.text.len(), self.text.len(), TerminatedBy::EndOfStream),
            }
        }
    }

    /// Rules 4 and 5, without the escapes: the arguments between `from` and `end`, where the body ends.
    fn arguments(&self, from: usize, end: usize) -> Vec<Argument> {
        let mut arguments = Vec::new();
        let mut at = from;
        while let Some((Marker::Argument, marker)) =
            self.next_marker(at).filter(|&(_, marker)| marker < end)
        {
            let line = marker + self.spelling(Marker::Argument).len();
            let until = self.next_marker(line).map_or(end, |(_, at)| at);
            let newline = self.text[line..until].find('\n').map(|at| line + at);
            let pointer = self.text[line..newline.unwrap_or(until)].trim().to_owned();
            let value = match newline {
                Some(newline) => Some(self.value(newline + 1, until)),
                None if until < self.text.len() => Some((until, until)),
                None => None,
            };
            arguments.push(Argument {
                pointer,
                value,
                until,
            });
            at = until;
        }
        arguments
    }

    /// The value between `start` and the marker at `until`: without that marker's blanks and one newline.
    fn value(&self, start: usize, until: usize) -> (usize, usize) {
        let before_marker = match self.format.anchoring {
            Anchoring::LineStart if until < self.text.len() => self.line_start(until),
            Anchoring::LineStart | Anchoring::Anywhere => until,
        };
        (start, self.without_newline(start, before_marker))
    }

    /// The end of `start..end` without one trailing newline.
    fn without_newline(&self, start: usize, end: usize) -> usize {
        let value = &self.text[start..end];
        let shorter = value
            .strip_suffix("\r\n")
            .or_else(|| value.strip_suffix('\n'));
        start + shorter.unwrap_or(value).len()
    }

    /// What the body says. `arguments` is `Err` if it is malformed.
    fn body(&self, id: &str, start: usize, end: usize) -> Body {
        let limits = &self.format.limits;
        let mut arguments = self.arguments(start, end);
        if arguments.is_empty() {
            return self.body_without_arguments(start, end);
        }
        // Up to the first argument marker: the marker is behind this text or its blanks.
        let (_, first_marker) = self.next_marker(start).expect("there is an argument");
        let mut preamble = &self.text[start..first_marker];
        let mut partial = None;
        let mut fence = None;

        // DECIDED: if the end of the reply cuts the last pointer, there is no last value, so nothing is taken off
        // the one before.
        if let Some((value, value_end)) = arguments.last_mut().and_then(|last| last.value.as_mut())
        {
            if end == self.text.len()
                && let Some((cut, fragment)) = self.partial_marker(*value)
            {
                partial = Some(diagnostic(DiagnosticCode::PartialMarker, fragment, end));
                *value_end = self.without_newline(*value, cut);
            }
            if let Some(opening) = opening_fence(preamble)
                && let Some(line) = self.closing_fence(&opening, *value, *value_end)
            {
                fence = Some(diagnostic(DiagnosticCode::FenceRemoved, line, *value_end));
                *value_end = self.without_newline(*value, line);
                preamble = &preamble[..opening.at];
            }
        }

        let mut diagnostics = Vec::new();
        for (value, value_end) in arguments.iter().filter_map(|argument| argument.value) {
            diagnostics.extend(
                self.escapes(value, value_end)
                    .into_iter()
                    .map(|at| diagnostic(DiagnosticCode::EscapedMarker, at, at + 1)),
            );
        }
        diagnostics.extend(fence);
        if !preamble.trim().is_empty() {
            let begin = start + preamble.len() - preamble.trim_start().len();
            let code = DiagnosticCode::TextBeforeArguments;
            diagnostics.push(diagnostic(code, begin, begin + preamble.trim().len()));
        }
        diagnostics.extend(partial);
        for (value, value_end) in arguments.iter().filter_map(|argument| argument.value) {
            diagnostics.extend(self.near_misses_of_value(value, value_end));
        }

        let mut seen = Vec::new();
        let mut pairs = Vec::new();
        let mut malformed = end - start > limits.block;
        for argument in arguments {
            let pointer = argument.pointer;
            let Some((value, value_end)) = argument.value else {
                malformed = true;
                continue;
            };
            let value = self.unescaped(value, value_end);
            // DECIDED: an empty pointer makes a block malformed like one with white space. A too long pointer has
            // no deltas either. Lengths are those of the pointer without white space around it and of the value as
            // it is in the end.
            let bad_pointer = pointer.is_empty()
                || pointer.contains(char::is_whitespace)
                || pointer.len() > limits.pointer;
            malformed |= bad_pointer || value.len() > limits.value;
            // DECIDED: of a too long block, only the arguments whose end is within the limit are complete.
            if !bad_pointer && argument.until - start <= limits.block {
                seen.push(Seen::Argument {
                    id: id.to_owned(),
                    pointer: pointer.clone(),
                    value: value.clone(),
                });
            }
            pairs.push((pointer, value));
        }
        Body {
            arguments_seen: seen,
            diagnostics,
            arguments: if malformed { Err(()) } else { Ok(pairs) },
        }
    }

    /// Rule 7, second half.
    fn body_without_arguments(&self, start: usize, end: usize) -> Body {
        let body = &self.text[start..end];
        let mut diagnostics = Vec::new();
        let arguments = if body.len() > self.format.limits.block {
            Err(())
        } else if body.trim().is_empty() {
            Ok(Vec::new())
        } else {
            let (from, to) = without_fences(body);
            let json = body[from..to].trim();
            match serde_json::from_str(json) {
                Ok(serde_json::Value::Object(_)) => {
                    let begin = start + to - body[from..to].trim_start().len();
                    let code = DiagnosticCode::JsonBody;
                    diagnostics.push(diagnostic(code, begin, begin + json.len()));
                    Ok(vec![(String::new(), json.to_owned())])
                }
                Ok(_) | Err(_) => Err(()),
            }
        };
        Body {
            arguments_seen: Vec::new(),
            diagnostics,
            arguments,
        }
    }

    /// Rule 8: where the line and the fragment of a marker begin that ends the value and the reply.
    fn partial_marker(&self, value: usize) -> Option<(usize, usize)> {
        let line = self.line_start(self.text.len()).max(value);
        let blanks = match self.format.anchoring {
            Anchoring::Anywhere => 0,
            Anchoring::LineStart => {
                self.text[line..].len() - self.text[line..].trim_start_matches(is_blank).len()
            }
        };
        if blanks > self.format.limits.indent {
            return None;
        }
        let fragment = &self.text[line + blanks..];
        let partial = fragment.chars().any(char::is_alphanumeric)
            && ALL.into_iter().any(|marker| {
                let spelling = self.spelling(marker);
                spelling.starts_with(fragment) && spelling != fragment
            });
        partial.then_some((line, line + blanks))
    }

    /// Rule 6: the first byte of the last line of the value, if that line closes the fence.
    fn closing_fence(&self, opening: &Fence, value: usize, value_end: usize) -> Option<usize> {
        let at = self.line_start(value_end).max(value);
        let line = &self.text[at..value_end];
        let ticks = line.trim_matches(is_blank);
        let lines_before = self.text[value..at].lines();
        let fences_before = lines_before
            .filter(|line| line.trim_start_matches(is_blank).starts_with("```"))
            .count();
        let closes = ticks.chars().all(|char| char == '`')
            && ticks.len() >= opening.ticks
            && fences_before % 2 == 0
            && line.len() <= self.format.limits.indent;
        closes.then_some(at)
    }

    /// The backslashes that are no part of the value.
    fn escapes(&self, value: usize, value_end: usize) -> Vec<usize> {
        (value..value_end)
            .filter(|&at| self.escaped_marker(at).is_some())
            .collect()
    }

    /// The value without those backslashes.
    fn unescaped(&self, value: usize, value_end: usize) -> String {
        let escapes = self.escapes(value, value_end);
        self.text[value..value_end]
            .char_indices()
            .filter(|(at, _)| !escapes.contains(&(value + at)))
            .map(|(_, char)| char)
            .collect()
    }

    fn near_misses_of_value(&self, value: usize, value_end: usize) -> Vec<Seen> {
        let mut misses = Vec::new();
        let mut at = value;
        while at < value_end {
            if let Some(marker) = self.escaped_marker(at) {
                at += 1 + self.spelling(marker).len();
            } else if let Some((code, behind)) = self
                .text
                .is_char_boundary(at)
                .then(|| self.near_miss(value, at, Place::Value))
                .flatten()
                .filter(|&(_, behind)| behind <= value_end)
            {
                misses.push(diagnostic(code, at, behind));
                at = behind;
            } else {
                at += 1;
            }
        }
        misses
    }
}

struct Body {
    arguments_seen: Vec<Seen>,
    diagnostics: Vec<Seen>,
    arguments: Result<Vec<(String, String)>, ()>,
}

/// An opening fence.
struct Fence {
    /// The first byte of its line, in the text that was looked at.
    at: usize,
    /// How many backticks it has.
    ticks: usize,
}

/// The last line of the text that is not white space, if it is an opening fence.
fn opening_fence(text: &str) -> Option<Fence> {
    let text = text.trim_end();
    let at = text.rfind('\n').map_or(0, |newline| newline + 1);
    let ticks = opening_ticks(&text[at..])?;
    Some(Fence { at, ticks })
}

/// How many backticks a line opens a fence with, if it does.
fn opening_ticks(line: &str) -> Option<usize> {
    let line = line.trim_start_matches(is_blank);
    let ticks = run_length(line, '`');
    (ticks >= 3 && !line[ticks..].contains('`')).then_some(ticks)
}

/// Rule 7: the body without a pair of fence lines around it, as a range.
fn without_fences(body: &str) -> (usize, usize) {
    let end = body.trim_end().len();
    let begin = body.len() - body.trim_start().len();
    let first_line = body[..begin].rfind('\n').map_or(0, |newline| newline + 1);
    let last_line = body[..end].rfind('\n').map_or(0, |newline| newline + 1);
    if first_line >= last_line {
        return (0, body.len());
    }
    let first_end = first_line + body[first_line..].find('\n').expect("more lines follow");
    // DECIDED: this closing line may have white space around it, so that `\r` is no obstacle; it may be of any
    // length, and there is no `fenceRemoved`.
    let closing = body[last_line..end].trim();
    match opening_ticks(&body[first_line..first_end]) {
        Some(ticks) if closing.len() >= ticks && closing.chars().all(|char| char == '`') => {
            (first_end + 1, last_line)
        }
        Some(_) | None => (0, body.len()),
    }
}

// Tags

impl Reader<'_> {
    /// The registered name behind a `<` at `at` that may open a tag.
    fn tag_that_may_open(&self, at: usize) -> Option<&str> {
        let rest = self.text.get(at..)?.strip_prefix('<')?;
        let tags = self.format.tags.iter().map(String::as_str);
        tags.filter(|tag| is_name(tag) && tag.len() <= self.format.limits.tag_name)
            .find(|tag| {
                rest.strip_prefix(tag)
                    .is_some_and(|rest| rest.starts_with(['>', '/', ' ', '\t', '\n', '\r']))
            })
    }

    /// The opening tag at `at`.
    fn opening(&self, tag: &str, at: usize) -> Result<Opening, NotOpened> {
        let name_end = at + 1 + tag.len();
        let rest = &self.text.as_bytes()[name_end..];
        let limit = self.format.limits.attributes;
        match attributes(&rest[..rest.len().min(limit)]) {
            Parsed::Open {
                attrs,
                self_closing,
                length,
            } => Ok(Opening {
                tag: tag.to_owned(),
                attrs,
                self_closing,
                behind: name_end + length,
            }),
            Parsed::Unfinished if rest.len() >= limit => Err(NotOpened::TooLong),
            Parsed::Unfinished | Parsed::No => Err(NotOpened::Otherwise),
        }
    }

    /// Reads a custom block and says where reading goes on.
    fn tag(&mut self, opening: Opening) -> usize {
        self.blocks += 1;
        let block = self.blocks;
        let Opening {
            tag,
            attrs,
            self_closing,
            behind: start,
        } = opening;
        let (content_end, behind, reason) = if self_closing {
            (start, start, EndReason::SelfClosing)
        } else {
            self.content_end(&tag, start)
        };
        let content = self.text[start..content_end].to_owned();
        self.seen.push(Seen::TagStart {
            block,
            tag: tag.clone(),
            attrs: attrs.clone(),
        });
        if !content.is_empty() {
            self.seen.push(Seen::TagContent {
                block,
                content: content.clone(),
            });
        }
        if reason == EndReason::Limit {
            let code = DiagnosticCode::LimitExceeded;
            self.seen.push(diagnostic(code, content_end, content_end));
        }
        self.seen.push(Seen::TagEnd {
            block,
            tag: tag.clone(),
            reason,
        });
        self.seen.push(Seen::Tag {
            block,
            tag,
            content,
            attrs,
            self_closing,
        });
        behind
    }

    /// Where the content ends, where the block ends, and why.
    fn content_end(&self, tag: &str, start: usize) -> (usize, usize, EndReason) {
        let limit = self.format.limits.tag_content;
        let content = &self.text[start..];
        // DECIDED: "within the first n bytes" is an offset of at most n, as in the rule about headers.
        let closing = (0..content.len())
            .take_while(|&at| at <= limit)
            .find_map(|at| Some((at, self.closing_tag(tag, start + at)?)));
        if let Some((at, behind)) = closing {
            (start + at, behind, EndReason::Closed)
        } else if content.len() > limit {
            let cut = start + content.floor_char_boundary(limit);
            (cut, cut, EndReason::Limit)
        } else {
            (self.text.len(), self.text.len(), EndReason::EndOfStream)
        }
    }

    /// Where the closing tag at `at` ends.
    fn closing_tag(&self, tag: &str, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?.strip_prefix("</")?.strip_prefix(tag)?;
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let white_space = rest.len() - trimmed.len();
        let closes = trimmed.starts_with('>') && white_space <= self.format.limits.indent;
        closes.then(|| at + "</".len() + tag.len() + white_space + ">".len())
    }
}

enum Parsed {
    Open {
        attrs: Vec<(String, String)>,
        self_closing: bool,
        /// With the `>`.
        length: usize,
    },
    /// It may be one, but there is no more text.
    Unfinished,
    No,
}

/// Reads everything between the name of a tag and its `>`. Works on bytes, for a limit may cut a character; whatever
/// is kept ends at ASCII.
///
/// DECIDED: "white space" is space, tab, newline and carriage return everywhere in tags.
fn attributes(text: &[u8]) -> Parsed {
    let mut attrs: Vec<(String, String)> = Vec::new();
    let mut at = 0;
    // Whether an attribute may begin without white space: only behind a quoted value.
    let mut separated = false;
    loop {
        let space = count(&text[at..], is_tag_space);
        separated |= space > 0;
        at += space;
        match text.get(at) {
            None => return Parsed::Unfinished,
            Some(b'>') => {
                return Parsed::Open {
                    attrs,
                    self_closing: false,
                    length: at + 1,
                };
            }
            Some(b'/') => {
                at += count(&text[at..], |byte| byte == b'/' || is_tag_space(byte));
                return match text.get(at) {
                    None => Parsed::Unfinished,
                    Some(b'>') => Parsed::Open {
                        attrs,
                        self_closing: true,
                        length: at + 1,
                    },
                    Some(_) => Parsed::No,
                };
            }
            Some(&byte) if separated && is_attribute_start(byte) => {}
            Some(_) => return Parsed::No,
        }
        let name = at;
        at += count(&text[at..], is_attribute_byte);
        let name = utf8(&text[name..at]);
        let mut value = "";
        separated = false;
        let space = count(&text[at..], is_tag_space);
        if text.get(at + space) == Some(&b'=') {
            at += space + 1;
            at += count(&text[at..], is_tag_space);
            match text.get(at) {
                None => return Parsed::Unfinished,
                Some(&quote @ (b'"' | b'\'')) => {
                    let length = count(&text[at + 1..], |byte| byte != quote);
                    if at + 1 + length == text.len() {
                        return Parsed::Unfinished;
                    }
                    value = utf8(&text[at + 1..at + 1 + length]);
                    at += 1 + length + 1;
                    separated = true;
                }
                // DECIDED: `name=`, white space, `>` is empty too.
                Some(_) => {
                    let length = count(&text[at..], |byte| byte != b'>' && !is_tag_space(byte));
                    if text[at..at + length].contains(&b'<') {
                        return Parsed::No;
                    }
                    if at + length == text.len() {
                        return Parsed::Unfinished;
                    }
                    value = utf8(&text[at..at + length]);
                    at += length;
                }
            }
        }
        let value = decoded(value);
        match attrs.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => attrs.push((name.to_owned(), value)),
        }
    }
}

/// The value with its entities decoded, once.
fn decoded(value: &str) -> String {
    const ENTITIES: [(&str, &str); 5] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
        ("&quot;", "\""),
        ("&apos;", "'"),
    ];
    let mut decoded = String::new();
    let mut rest = value;
    while let Some(char) = rest.chars().next() {
        let entity = ENTITIES
            .into_iter()
            .find(|(entity, _)| rest.starts_with(entity));
        if let Some((entity, meaning)) = entity {
            decoded.push_str(meaning);
            rest = &rest[entity.len()..];
        } else {
            decoded.push(char);
            rest = &rest[char.len_utf8()..];
        }
    }
    decoded
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn is_attribute_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || b"_:".contains(&byte)
}

fn is_attribute_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte)
}

fn is_tag_space(byte: u8) -> bool {
    b" \t\n\r".contains(&byte)
}

/// How many bytes at the start are of this kind.
fn count(text: &[u8], kind: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|&&byte| kind(byte)).count()
}

fn utf8(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("it begins and ends beside ASCII characters")
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
