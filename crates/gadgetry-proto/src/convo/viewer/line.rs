//! Mode line: filters, then a range of what they leave.

use gadgetry_validator::regex_length;
use regex::{Regex, RegexBuilder};

use crate::convo::shape::Shape;
use crate::convo::viewer::range::Limit;
use crate::convo::viewer::{Pattern, ViewRequest};

/// Bytes that a compiled regular expression may take.
const REGEX_SIZE: usize = 1 << 20;

/// Characters that an expression describes, with repetitions, whatever the length of the text.
const LENGTH: u64 = 250;

/// Steps of matching with longer ones. A byte may take one for each of their characters, so `[a-z]{10000}` may take 10,000.
const STEPS: u64 = 256 << 20;

/// Lines that a hint suggests to read next, at least.
const PAGE: usize = 200;

pub(super) fn view(
    content: &str,
    request: &ViewRequest,
    max_chars: usize,
) -> Result<String, String> {
    let limit = Limit::parse(request.limit.as_deref())?;
    let mut lines = split(content);
    let total = lines.len();
    let mut steps = 0;
    for (index, pattern) in request.patterns.iter().enumerate() {
        let regex = compile(index, pattern)?;
        let length = regex_length(&pattern.regex).filter(|length| *length > LENGTH);
        let bytes = content.len() as u64;
        steps = length
            .unwrap_or(0)
            .saturating_mul(bytes)
            .saturating_add(steps);
        if steps > STEPS {
            return Err(format!(
                "patterns/{index}/regex takes too long for {} bytes; repeat less in it",
                content.len()
            ));
        }
        lines = filter(&lines, pattern, &regex);
    }
    let (skip, end) = limit.of(lines.len());
    let asked = &lines[skip..end];
    let of_lines = format!("{total} {}", if total == 1 { "line" } else { "lines" });
    let Some(first) = asked.first() else {
        return Ok(if lines.is_empty() {
            format!("No lines matched the filters. Original output had {of_lines}.")
        } else {
            let left = lines.len();
            let last = left.min(PAGE);
            format!(
                "[Mode: line | Showing 0 of {of_lines}]\n\
                 [The limit begins past line {left}, the last one that is left. Last lines: limit: \"-{last}\"]"
            )
        });
    };
    let shown = how_many_fit(asked, max_chars);
    let hint = Hint {
        limit,
        skip,
        filtered: lines.len(),
        asked: asked.len(),
    };
    if shown == 0 {
        let part: String = first.text.chars().take(max_chars).collect();
        let hint = hint.after(1);
        let tip = Shape::of(content).tip(content[..first.at].chars().count());
        return Ok(format!(
            "[Mode: line | Showing 1 partial line of {of_lines} \
             (the selected line exceeds the viewer size limit)]\n{hint}{part}\n[Tip: {tip}]"
        ));
    }
    let text: Vec<&str> = asked[..shown].iter().map(|line| line.text).collect();
    let text = text.join("\n");
    let hint = hint.after(shown);
    let count = if shown == total {
        "all".to_owned()
    } else {
        format!("{shown} of")
    };
    let cut = if hint.is_empty() {
        ""
    } else {
        " (truncated due to size limit)"
    };
    Ok(format!(
        "[Mode: line | Showing {count} {of_lines}{cut}]\n{hint}{text}"
    ))
}

/// A line of the stored text.
#[derive(Clone, Copy)]
struct OutputLine<'c> {
    /// The byte where it begins.
    at: usize,
    text: &'c str,
}

fn split(content: &str) -> Vec<OutputLine<'_>> {
    let mut at = 0;
    let lines = content.split('\n').map(|text| {
        let line = OutputLine { at, text };
        at += text.len() + 1;
        line
    });
    lines.collect()
}

/// The data for describing how to continue.
struct Hint {
    limit: Limit,
    /// Lines that the limit left out at the beginning.
    skip: usize,
    /// Lines that the filters left.
    filtered: usize,
    /// Lines that the limit left of those.
    asked: usize,
}

impl Hint {
    /// A line that names the range to ask for next, or nothing. Counted as the limit counts: in what the patterns
    /// leave, so that the same request with the new limit continues where this one was cut.
    fn after(&self, shown: usize) -> String {
        let more = self.asked - shown;
        if more == 0 {
            return String::new();
        }
        let done = self.skip + shown;
        let end = match self.limit {
            Limit::All => self.filtered.max(done + PAGE),
            Limit::First(end) | Limit::Range(_, end) => end.min(self.filtered),
            Limit::Last(_) => self.filtered,
        };
        let lines = if more == 1 { "line" } else { "lines" };
        let next = done + 1;
        format!(
            "[... {more} more {lines}. Use limit parameter to paginate, e.g., limit: \"{next}-{end}\"]\n"
        )
    }
}

/// Returns the number of lines that stay within `max_chars` when they are joined.
fn how_many_fit(lines: &[OutputLine<'_>], max_chars: usize) -> usize {
    let mut chars = 0;
    let too_long = lines.iter().enumerate().position(|(index, line)| {
        chars += line.text.chars().count() + usize::from(index > 0);
        chars > max_chars
    });
    too_long.unwrap_or(lines.len())
}

fn compile(index: usize, pattern: &Pattern) -> Result<Regex, String> {
    let built = RegexBuilder::new(&pattern.regex)
        .size_limit(REGEX_SIZE)
        .dfa_size_limit(REGEX_SIZE)
        .build();
    built.map_err(|error| {
        let error = if matches!(error, regex::Error::CompiledTooBig(_)) {
            "it is too large.".to_owned()
        } else {
            error.to_string().chars().take(600).collect()
        };
        format!(
            "patterns/{index}/regex cannot be used: {error}\n\
             (Syntax: Rust regex. No look-around, no back-references; (?i) ignores case.)"
        )
    })
}

/// The lines that `pattern` leaves of `lines`.
fn filter<'c>(lines: &[OutputLine<'c>], pattern: &Pattern, regex: &Regex) -> Vec<OutputLine<'c>> {
    let matches =
        |line: &OutputLine<'_>| regex.is_match(line.text.strip_suffix('\r').unwrap_or(line.text));
    if !pattern.include {
        return lines
            .iter()
            .copied()
            .filter(|line| !matches(line))
            .collect();
    }
    let mut kept = Vec::new();
    let mut taken = 0;
    for (index, line) in lines.iter().enumerate() {
        if matches(line) {
            let from = index.saturating_sub(pattern.before as usize).max(taken);
            let to = (index + 1)
                .saturating_add(pattern.after as usize)
                .min(lines.len());
            kept.extend_from_slice(&lines[from..to]);
            taken = to;
        }
    }
    kept
}
