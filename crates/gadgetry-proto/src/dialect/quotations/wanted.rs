//! A call that is looked for in data.

use std::borrow::Cow;
use std::iter;

use serde_json::Value;

use super::STEP;
use crate::dialect::significant::{Significant, Tags};

/// Maximum bytes between two values of a call, or its name and a value.
const GAP: usize = 256;

/// Maximum bytes of a key or a word in such a gap.
const WORD: usize = 64;

/// The steps that a comparison may still take, whatever the text.
#[derive(Debug)]
pub(super) struct Steps(usize);

impl Steps {
    pub(super) fn new(steps: usize) -> Self {
        Self(steps)
    }

    /// Takes a step; `None` if all are used up.
    fn take(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }

    /// Takes the steps in whose time so many bytes are searched; all that are left, and `None`, if these are too few.
    fn take_for(&mut self, bytes: usize) -> Option<()> {
        let left = self.0.checked_sub(bytes / STEP);
        self.0 = left.unwrap_or(0);
        left.map(|_| ())
    }

    /// Returns the steps that are left.
    pub(super) fn left(&self) -> usize {
        self.0
    }
}

/// The significant characters of a call.
pub(super) struct Wanted {
    name: String,
    values: Vec<String>,
    /// Maximum bytes of the values with what is between them.
    longest: usize,
}

impl Wanted {
    /// Returns what is looked for; `None` if no character of a value is left without tags.
    pub(super) fn new(name: &str, parameters: &Value, tags: Tags) -> Option<Self> {
        let values = parameters.as_object().into_iter();
        let values = values.flat_map(|it| it.values()).map(|value| {
            let kept = significant_value(value, tags);
            let is_lost = kept.is_empty()
                && tags != Tags::Kept
                && !significant_value(value, Tags::Kept).is_empty();
            (!is_lost).then_some(kept)
        });
        let values: Vec<String> = values.collect::<Option<_>>()?;
        Some(Self {
            name: Significant::of(name, tags).text().to_owned(),
            longest: 2 * GAP + values.iter().map(|value| value.len() + GAP).sum::<usize>(),
            values,
        })
    }

    /// Returns `true` if it is in data, or if the steps are used up before that is known.
    pub(super) fn is_in(&self, data: &Significant, steps: &mut Steps) -> bool {
        if self.name.is_empty() {
            return false;
        }
        let mut found = data
            .text()
            .match_indices(&self.name)
            .map(|(start, _)| start);
        found.any(|start| {
            let end = start + self.name.len();
            let mut place = Place { data, steps };
            let is_call = data.is_word(start, end)
                && match self.values.as_slice() {
                    [] => place.has_no_arguments(start, end),
                    values => place.is_call(end, values) || place.is_named_last(start, self),
                };
            is_call || steps.take().is_none()
        })
    }
}

/// Returns the significant characters of a value, without brackets: a schema may have put a value into a list.
fn significant_value(value: &Value, tags: Tags) -> String {
    let text = value.as_str().map(Cow::Borrowed);
    let text = text.unwrap_or_else(|| value.to_string().into());
    let kept = Significant::of(&text, tags);
    kept.text().replace(is_bracket, "")
}

fn is_bracket(c: char) -> bool {
    matches!(c, '[' | ']' | '{' | '}')
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Places in data, as offsets. Each look at one is a step; once the steps are used up, nothing is found.
struct Place<'d> {
    data: &'d Significant,
    steps: &'d mut Steps,
}

impl<'d> Place<'d> {
    fn text(&self) -> &'d str {
        self.data.text()
    }

    fn after(&self, at: usize) -> &'d str {
        &self.text()[at..]
    }

    /// Returns `true` if the values of a call follow a name.
    fn is_call(&mut self, name_end: usize, values: &[String]) -> bool {
        let mut at = self.data.after_head(name_end);
        // After a name in a sentence comes a word.
        if self.after(at).starts_with(is_letter) {
            return false;
        }
        let mut is_first = true;
        for value in values {
            let Some(next) = self.after_value(at, value, is_first) else {
                return false;
            };
            (at, is_first) = (next, false);
        }
        true
    }

    /// Returns `true` if the values of a call are before its name: `{"arguments": {…}, "name": "rm"`.
    fn is_named_last(&mut self, name: usize, wanted: &Wanted) -> bool {
        let before = &self.text()[..self.data.before_head(name)];
        if !before.ends_with([':', '=']) {
            return false;
        }
        let from = before.floor_char_boundary(before.len().saturating_sub(wanted.longest));
        // There may be many names with long texts without a bracket before them.
        if self.steps.take_for(before.len() - from).is_none() {
            return false;
        }
        before[from..].match_indices('{').any(|(open, _)| {
            let mut at = from + open;
            let has_all = wanted.values.iter().all(|value| {
                let next = self.after_value(at, value, false);
                at = next.unwrap_or(at);
                next.is_some()
            });
            has_all && at <= name && self.gap_has_end(at, name)
        })
    }

    /// Returns `true` if there is only a gap between two places.
    fn gap_has_end(&mut self, from: usize, end: usize) -> bool {
        gap_ends(self.data, from)
            .map_while(|at| self.steps.take().map(|()| at))
            .any(|at| at == end)
    }

    /// Returns the end of a value after a gap. Before the first value, the gap has a sign that only notations have there.
    fn after_value(&mut self, from: usize, value: &str, is_first: bool) -> Option<usize> {
        let mut has_sign = !is_first;
        let mut seen = from;
        for at in iter::once(from).chain(gap_ends(self.data, from)) {
            self.steps.take()?;
            let passed = self.data.after_head(seen).min(at);
            has_sign |= self.text()[passed..at].contains(['(', '{', '[', '<', '|']);
            seen = at;
            // Brackets are passed first, as they belong to no value.
            let is_before = !value.is_empty() && self.after(at).starts_with(is_bracket);
            if has_sign
                && !is_before
                && let Some(end) = self.value_end(at, value)
            {
                return Some(end);
            }
        }
        None
    }

    /// Returns the end of a value, which must end there. Brackets and heads of lines may be in it.
    fn value_end(&mut self, from: usize, value: &str) -> Option<usize> {
        let mut at = from;
        for wanted in value.chars() {
            at = self.find(at, wanted)? + wanted.len_utf8();
        }
        let is_end = |c: char| matches!(c, ',' | ')' | ']' | '}' | '<' | '>' | '|' | ';');
        let rest = self.after(self.data.after_head(at));
        (rest.is_empty() || rest.starts_with(is_end)).then_some(at)
    }

    /// Returns the place of a character: there, or after brackets and the head of a line, or else in that head.
    fn find(&mut self, from: usize, wanted: char) -> Option<usize> {
        let mut in_head = None;
        for (offset, c) in self.after(from).char_indices().take(GAP) {
            self.steps.take()?;
            let at = from + offset;
            let is_head = self.data.is_head(at);
            if c == wanted {
                in_head = in_head.or(Some(at));
                if !is_head {
                    return Some(at);
                }
            } else if !is_head && !is_bracket(c) {
                break;
            }
        }
        in_head
    }

    /// Returns `true` if a name at this place is that of a call without arguments.
    fn has_no_arguments(&mut self, start: usize, end: usize) -> bool {
        let before = &self.text()[..self.data.before_head(start)];
        let end = self.data.after_head(end);
        let after = self.after(end);
        let is_tag = before.ends_with(['<', '=']) && after.starts_with("></")
            || before.ends_with('<') && after.starts_with("/>")
            || before.ends_with("<tool_call>") && after.starts_with("</tool_call>");
        if is_tag || after.starts_with("()") {
            return true;
        }
        if after.starts_with(is_letter) {
            return false;
        }
        // `{"name": "Ping"}`, `{"name": "Ping", "arguments": {}}`
        let is_named = before.ends_with([':', '=']);
        let text = self.text();
        let brace = gap_ends(self.data, end)
            .map_while(|at| self.steps.take().map(|()| at))
            .find(|at| text[end..*at].ends_with(['{', '}']));
        brace.is_some_and(|at| {
            let is_open = text[..at].ends_with('{');
            let next = self.after(self.data.after_head(at));
            is_open && next.starts_with('}') || !is_open && is_named
        })
    }
}

/// Returns the places up to which data has only signs, heads of lines, and keys and words of a notation:
///
/// ```text
/// ,arguments:{path:x}}     after "," "arguments:" "{" "path:"; "x}" may be a word and its end
/// ```
fn gap_ends(data: &Significant, from: usize) -> impl Iterator<Item = usize> {
    let mut at = from;
    // Heads of lines are not counted, up to a multiple of the rest.
    let mut of_heads = 0;
    iter::from_fn(move || {
        let rest = data.text().get(at..)?;
        if at - from > GAP + of_heads {
            return None;
        }
        let first = rest.chars().next()?;
        let head = data.after_head(at) - at;
        if head > 0 {
            of_heads = (of_heads + head).min(4 * GAP);
            at += head;
            return Some(at);
        }
        // Not those that change the value after them, as `-` does.
        if ",:=(){}[]<>|/.;_`".contains(first) {
            at += first.len_utf8();
            return Some(at);
        }
        let is_word = |c: char| is_letter(c) || matches!(c, '-' | '.');
        let near = &rest[..rest.floor_char_boundary(WORD.min(rest.len()))];
        let word = near.find(|c: char| !is_word(c)).filter(|word| *word > 0)?;
        let ends = |c: char| matches!(c, ':' | '=' | '>' | '|' | ',' | '{' | '}' | ']' | '<');
        let next = data.after_head(at + word);
        if !data.text()[next..].starts_with(ends) {
            return None;
        }
        at += word;
        Some(at)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Significant, Steps, Tags, Wanted};

    /// Texts that were compared again from each of their characters.
    #[test]
    fn the_steps_of_a_comparison_have_a_limit() {
        const SIZE: usize = 1 << 16;
        let long = "x".repeat(6000);
        for (begin, unit, end) in [
            ("", "{", ":rm"),
            ("rm(", "{", ""),
            ("rm(", "x", ""),
            ("rm(", "x,", ""),
            ("rm(", "\n-", ""),
            ("rm(", "\n- 7: ", ":rm"),
            ("", "rm({{{{{{{{", ""),
            ("", "rm:", ""),
            ("", ":rm", ""),
            ("", "rm:1:\n", ""),
            ("", "rm:1:\n", "rm:"),
            ("x:", "rm-1-\n", "{rm"),
            ("", "{xxxxxxxx[", ":rm"),
        ] {
            let data = format!("{begin}{}{end}", unit.repeat(SIZE / unit.len()));
            let mut all = Significant::new(Tags::Kept);
            all.add(&data);
            for parameters in [json!({"a": long}), json!({"a": "", "b": ""}), json!({})] {
                let wanted = Wanted::new("rm", &parameters, Tags::Kept).expect("values");
                for most in [0, 1000, 1 << 20] {
                    let mut steps = Steps::new(most);
                    let is_in = wanted.is_in(&all, &mut steps);
                    assert!(is_in || steps.left() > 0, "{begin}{unit}{end} {most}");
                }
            }
        }
    }

    /// Between a long value and its name could be much text, which is searched before each of many names.
    #[test]
    fn a_search_before_a_name_takes_steps() {
        let mut all = Significant::new(Tags::Kept);
        all.add(&":rm".repeat(1000));
        let parameters = json!({"a": "x".repeat(1 << 20)});
        let wanted = Wanted::new("rm", &parameters, Tags::Kept).expect("values");
        for (most, is_enough) in [(10_000, false), (1 << 20, true)] {
            let mut steps = Steps::new(most);
            let is_in = wanted.is_in(&all, &mut steps);
            assert_eq!((is_in, steps.left() > 0), (!is_enough, is_enough));
        }
    }
}
