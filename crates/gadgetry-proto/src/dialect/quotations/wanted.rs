//! A call that is looked for in data.

use std::borrow::Cow;
use std::iter;

use serde_json::Value;

use crate::dialect::significant::{Significant, Tags};

/// Maximum bytes between two values of a call, or its name and a value.
const GAP: usize = 256;

/// Maximum bytes of a key or a word in such a gap.
const WORD: usize = 64;

/// Keys of the names of calls, where their values need no brackets.
const NAME_KEYS: [&str; 6] = ["name", "tool", "tool_name", "action", "function", "gadget"];

/// Bytes that are searched in the time of one step of a comparison.
pub(super) const STEP: usize = 32;

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

    /// Takes the steps in whose time this number of bytes is searched; all that are left, and `None`, if these are too few.
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
        // What looks like the head of a line may be a part of the call.
        let views = if data.has_heads() {
            &[true, false][..]
        } else {
            &[false]
        };
        found.any(|start| {
            let end = start + self.name.len();
            let is_call = data.is_word(start, end)
                && views.iter().any(|has_heads| {
                    let mut place = Place {
                        data,
                        steps,
                        has_heads: *has_heads,
                        is_attribute: false,
                    };
                    match self.values.as_slice() {
                        [] => place.has_no_arguments(start, end),
                        values => {
                            place.is_call(start, end, values) || place.is_named_last(start, self)
                        }
                    }
                });
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
    /// Whether the heads of lines are passed.
    has_heads: bool,
    /// Whether values are attributes of an element, so that another attribute may follow them.
    is_attribute: bool,
}

impl<'d> Place<'d> {
    fn text(&self) -> &'d str {
        self.data.text()
    }

    fn after(&self, at: usize) -> &'d str {
        &self.text()[at..]
    }

    fn is_head(&self, at: usize) -> bool {
        self.has_heads && self.data.is_head(at)
    }

    fn after_head(&self, at: usize) -> usize {
        if self.has_heads {
            self.data.after_head(at)
        } else {
            at
        }
    }

    fn before_head(&self, at: usize) -> usize {
        if self.has_heads {
            self.data.before_head(at)
        } else {
            at
        }
    }

    /// Returns `true` if the values of a call follow a name.
    fn is_call(&mut self, name: usize, name_end: usize, values: &[String]) -> bool {
        let at = self.after_head(name_end);
        // Words after a name in a head belong to a sentence, not to what a program puts before a line.
        let in_head = &self.text()[name_end..at];
        let is_in_head = self.is_head(name_end.saturating_sub(1));
        if is_in_head && (in_head.len() > WORD || in_head.contains(is_letter)) {
            return false;
        }
        let is_word = self.after(at).starts_with(is_letter);
        if is_word && block_key(self.data, at).is_none() {
            if let Some(object) = self.after_label(name, at) {
                return self.has_values(object, values, false).is_some();
            }
            // After a name in a sentence comes a word; in an element, an attribute.
            self.is_attribute = self.data.is_after_blank(name_end) && self.opens_element(name);
            return self.is_attribute && self.has_values(at, values, true).is_some();
        }
        if self.has_values(at, values, false).is_some() {
            return true;
        }
        // `{"tool": "rm", "input": "x"}` has no sign between its values, but around them.
        self.after(at).starts_with(',')
            && self.is_field(name)
            && self
                .has_values(at, values, true)
                .is_some_and(|end| self.after(self.after_head(end)).starts_with(['}', ',']))
    }

    /// Returns the object after a name and a label: `Action: rm⏎Action Input: {…}`.
    fn after_label(&self, name: usize, label: usize) -> Option<usize> {
        let before = &self.text()[..self.before_head(name)];
        let key = before.strip_suffix([':', '='])?;
        NAME_KEYS.iter().find(|it| key.ends_with(**it))?;
        let near = near(self.after(label), WORD);
        let end = near.find(|c: char| !is_letter(c))?;
        near[end..].starts_with(":{").then_some(label + end + 1)
    }

    /// Returns the end of values that follow one another, with or without a sign before the first.
    fn has_values(&mut self, from: usize, values: &[String], has_sign: bool) -> Option<usize> {
        let mut values = values.iter();
        let first = self.after_value(from, values.next()?, has_sign)?;
        values.try_fold(first, |at, value| self.after_value(at, value, true))
    }

    /// Returns `true` if a name is that of an element, or its attribute `name`.
    fn opens_element(&self, name: usize) -> bool {
        let before = &self.text()[..self.before_head(name)];
        let near = &before[before.ceil_char_boundary(before.len().saturating_sub(WORD))..];
        let of_name = near.strip_suffix("name=");
        near.ends_with('<')
            || of_name.is_some_and(|near| near[near.rfind('>').unwrap_or(0)..].contains('<'))
    }

    /// Returns `true` if a name is the value of a key that names a call, in an object.
    fn is_field(&self, name: usize) -> bool {
        let before = &self.text()[..self.before_head(name)];
        let key = before.strip_suffix([':', '=']).unwrap_or_default();
        NAME_KEYS.iter().any(|it| {
            key.strip_suffix(it).is_some_and(|before| {
                let end = self.before_head(before.len());
                before[..end.min(before.len())].ends_with(['{', ','])
            })
        })
    }

    /// Returns `true` if the values of a call are before its name: `{"arguments": {…}, "name": "rm"`.
    fn is_named_last(&mut self, name: usize, wanted: &Wanted) -> bool {
        let before = &self.text()[..self.before_head(name)];
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
                let next = self.after_value(at, value, true);
                at = next.unwrap_or(at);
                next.is_some()
            });
            has_all && at <= name && self.gap_has_end(at, name)
        })
    }

    /// Returns `true` if there is only a gap between two places.
    fn gap_has_end(&mut self, from: usize, end: usize) -> bool {
        gap_ends(self.data, self.has_heads, from)
            .map_while(|at| self.steps.take().map(|()| at))
            .any(|at| at == end)
    }

    /// Returns the end of a value after a gap. Before the first value, the gap has a sign that only notations have there.
    fn after_value(&mut self, from: usize, value: &str, mut has_sign: bool) -> Option<usize> {
        let mut seen = from;
        for at in iter::once(from).chain(gap_ends(self.data, self.has_heads, from)) {
            self.steps.take()?;
            let passed = self.after_head(seen).min(at);
            has_sign |= self.text()[passed..at].contains(['(', '{', '[', '<', '|'])
                || block_key(self.data, passed) == Some(at);
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
        // What looks like the head of a line may be the value's own.
        let end = self.value_end_by(from, value, false);
        end.or_else(|| self.value_end_by(from, value, true))
    }

    fn value_end_by(&mut self, from: usize, value: &str, keeps_heads: bool) -> Option<usize> {
        let mut at = from;
        for wanted in value.chars() {
            at = self.find(at, wanted, keeps_heads)? + wanted.len_utf8();
        }
        let is_end = |c: char| matches!(c, ',' | ')' | ']' | '}' | '<' | '>' | '|' | ';');
        let end = self.after_head(at);
        let mut rest = self.after(end);
        // `1.` is a number as well.
        if value.ends_with(|c: char| c.is_ascii_digit())
            && let Some(after) = rest.strip_prefix('.')
            && after.starts_with(is_end)
        {
            rest = after;
        }
        let is_at_end = rest.is_empty()
            || rest.starts_with(is_end)
            || block_marker(self.text(), end).is_some()
            || self.is_attribute && (rest.starts_with("/>") || self.begins_attribute(end));
        is_at_end.then_some(at)
    }

    /// Returns `true` if another attribute of an element is there.
    fn begins_attribute(&self, at: usize) -> bool {
        let near = near(self.after(at), WORD);
        let word = near.find(|c: char| !is_letter(c) && c != '-').unwrap_or(0);
        let is_parted = |at: usize| self.data.is_after_blank(at);
        word > 0
            && near[word..].starts_with('=')
            && is_parted(at)
            && !(at + 1..at + word).any(is_parted)
    }

    /// Returns the place of a character: there, or after brackets and the head of a line, or in that head, which may also be looked at first.
    fn find(&mut self, from: usize, wanted: char, keeps_heads: bool) -> Option<usize> {
        let mut in_head = None;
        let mut at = from;
        for _ in 0..GAP {
            self.steps.take()?;
            let Some(c) = self.after(at).chars().next() else {
                break;
            };
            let is_head = self.is_head(at);
            if c == wanted {
                if !is_head || keeps_heads {
                    return Some(at);
                }
                in_head = in_head.or(Some(at));
            } else if !is_head && !is_bracket(c) {
                break;
            }
            let end = if is_head { self.after_head(at) } else { at };
            // Of a long head, only its beginning and its end are looked at.
            at = if is_head && in_head.is_some() {
                end
            } else if at - from > GAP / 4 && end - at > GAP / 2 {
                self.text().ceil_char_boundary(end - GAP / 2)
            } else {
                at + c.len_utf8()
            };
        }
        in_head
    }

    /// Returns `true` if a name at this place is that of a call without arguments.
    fn has_no_arguments(&mut self, start: usize, end: usize) -> bool {
        let before = &self.text()[..self.before_head(start)];
        let end = self.after_head(end);
        let after = self.after(end);
        let is_tag = before.ends_with(['<', '=']) && after.starts_with("></")
            || before.ends_with('<') && after.starts_with("/>")
            || before.ends_with("<tool_call>") && after.starts_with("</tool_call>");
        // A block of gadgetry, which may have an id after the name.
        let is_block = before.ends_with("!!!gadget_start:")
            && block_marker(self.text(), end).is_none_or(|it| it.starts_with("gadget_end"))
            && near(after, 2 * WORD)
                .split_once("gadget_end")
                .is_some_and(|(id, _)| !id.contains("arg:"));
        if is_tag || is_block || after.starts_with("()") {
            return true;
        }
        if after.starts_with(is_letter) {
            return false;
        }
        // `{"name": "Ping"}`, `{"name": "Ping", "arguments": {}}`
        let is_named = before.ends_with([':', '=']);
        let text = self.text();
        let brace = gap_ends(self.data, self.has_heads, end)
            .map_while(|at| self.steps.take().map(|()| at))
            .find(|at| text[end..*at].ends_with(['{', '}']));
        brace.is_some_and(|at| {
            let is_open = text[..at].ends_with('{');
            let next = self.after(self.after_head(at));
            is_open && next.starts_with('}') || !is_open && is_named
        })
    }
}

/// Returns the places up to which data has only signs, heads of lines, and keys and words of a notation:
///
/// ```text
/// ,arguments:{path:x}}     after "," "arguments:" "{" "path:"; "x}" may be a word and its end
/// ```
fn gap_ends(data: &Significant, has_heads: bool, from: usize) -> impl Iterator<Item = usize> {
    let after_head = move |at| if has_heads { data.after_head(at) } else { at };
    let mut at = from;
    // Heads of lines are not counted: they are as many as other characters at most.
    let mut of_heads = 0;
    iter::from_fn(move || {
        let rest = data.text().get(at..)?;
        if at - from > GAP + of_heads {
            return None;
        }
        let first = rest.chars().next()?;
        let head = after_head(at) - at;
        if head > 0 {
            of_heads += head;
            at += head;
            return Some(at);
        }
        if let Some(end) = block_key(data, at) {
            at = end;
            return Some(at);
        }
        // Not those that change the value after them, as `-` does.
        if ",:=(){}[]<>|/.;_`".contains(first) {
            at += first.len_utf8();
            return Some(at);
        }
        let is_word = |c: char| is_letter(c) || matches!(c, '-' | '.');
        let near = near(rest, WORD);
        let word = near.find(|c: char| !is_word(c)).filter(|word| *word > 0)?;
        let ends = |c: char| matches!(c, ':' | '=' | '>' | '|' | ',' | '{' | '}' | ']' | '<');
        let next = after_head(at + word);
        if !data.text()[next..].starts_with(ends) && block_key(data, next).is_none() {
            return None;
        }
        at += word;
        Some(at)
    })
}

/// Returns the end of the key that a marker in one of gadgetry's own blocks has after it: `!!!ARG:path`, with the value in the next line.
fn block_key(data: &Significant, at: usize) -> Option<usize> {
    let key = block_marker(data.text(), at)?.strip_prefix("arg:")?;
    let start = data.text().len() - key.len();
    let end = start + near(key, WORD).len();
    (start + 1..end).find(|at| data.is_after_blank(*at))
}

/// Returns a text from the word of a marker on. Some of the signs before the word may be the head of its line.
fn block_marker(text: &str, at: usize) -> Option<&str> {
    let signs = text.as_bytes()[at..].iter().take("!!!".len());
    let (before, word) = text.split_at(at + signs.take_while(|it| **it == b'!').count());
    let is_marker = word.starts_with("arg:") || word.starts_with("gadget_");
    (is_marker && before.ends_with("!!!")).then_some(word)
}

/// Returns the beginning of a text.
fn near(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most.min(text.len()))]
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
