//! Gadget blocks. "Rule" is a number of the section "Gadget block".

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::call::TerminatedBy;
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::schema::json_parameters;

use super::marker::ALL;
use super::near_miss::{Place, run_length};
use super::{Header, HeaderEnd, Marker, Reader, Seen, diagnostic, is_blank, span};

impl Reader<'_> {
    /// Reads a block and says where reading goes on.
    pub(super) fn gadget(&mut self, header: &Header) -> usize {
        // Rule 2.
        let mut parts = header.line.trim().split(':').map(str::trim);
        let name = parts.next().unwrap_or_default().to_owned();
        let mut id = parts.next().unwrap_or_default().to_owned();
        if id.is_empty() {
            self.auto_ids += 1;
            id = format!("gadget_{}", self.auto_ids);
        } else if let Some(number) = id
            .strip_prefix("gadget_")
            .and_then(|it| it.parse::<u32>().ok())
        {
            self.auto_ids = self.auto_ids.max(number.into());
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
            // DECIDED: an empty pointer makes a block malformed like one with whitespace. A too long pointer has
            // no deltas either. Lengths are those of the pointer without whitespace around it and of the value as
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
            // What is read besides strict JSON is the subject of tests of its own.
            let read = json_parameters(json, None, &Limits::default());
            match read {
                Ok(Some(_)) => {
                    let begin = start + to - body[from..to].trim_start().len();
                    let code = DiagnosticCode::JsonBody;
                    diagnostics.push(diagnostic(code, begin, begin + json.len()));
                    Ok(vec![(String::new(), json.to_owned())])
                }
                Ok(None) | Err(_) => Err(()),
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
                .filter(|&(_, behind)| behind <= value_end && self.escapes(at, behind).is_empty())
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

/// An argument of a gadget block.
struct Argument {
    /// Trimmed.
    pointer: String,
    /// The value as a range of the reply; nothing if the end of the reply cut the pointer.
    value: Option<(usize, usize)>,
    /// The first byte of the marker behind it, or the end of the reply.
    until: usize,
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

/// The last line of the text that is not whitespace, if it is an opening fence.
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
    // DECIDED: this closing line may have whitespace around it, so that `\r` is no obstacle; it may be of any
    // length, and there is no `fenceRemoved`.
    let closing = body[last_line..end].trim();
    match opening_ticks(&body[first_line..first_end]) {
        Some(ticks) if closing.len() >= ticks && closing.chars().all(|char| char == '`') => {
            (first_end + 1, last_line)
        }
        Some(_) | None => (0, body.len()),
    }
}
