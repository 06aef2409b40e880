//! Calls that the model has not written but read: in a result, or in what the user pasted.
//!
//! The text of a page can contain a form of a dialect, which has no secret in it, and a model that repeats the page would make the
//! call. So a call that the data of the conversation contains is a quotation. Blocks need no such check: their markers are a secret that
//! data cannot know.
//!
//! Data contains a call in one of two ways, each compared by [significant](Significant) characters:
//!
//! | data has | so it does not matter |
//! |---|---|
//! | the form, without the wrapper around it | in which notation its values are |
//! | the call: the name, and the values in their order, with nothing but the signs, keys and words of a notation between | which form the model writes, which other calls are in it, which ids and names of fields it has |
//!
//! A sentence does not quote a call: "Translate text Hello to fr" has no signs of a notation after the name.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

use serde_json::Value;

use crate::call::Parameters;
use crate::dialect::significant::{Significant, Tags, without_numbers};
use crate::dialect::{CustomDialect, DialectCall, Dialects, Gated};
use crate::escapes::unescaped;
use crate::media::Media;
use crate::message::{Content, Message, Role};

/// Element in system messages with the instructions of a project, which are the words of its authors. Calls in it are data.
pub const PROJECT_INSTRUCTIONS: &str = "project_instructions";

/// Bytes of data that are searched for the calls of one reply. After that, every call counts as a quotation.
const SEARCHED: usize = 256 << 20;

/// Bytes that are searched in the time of one step of a comparison.
const STEP: usize = 16;

/// Significant characters of wrappers of forms, before and after them.
const WRAPPERS: [&[&str]; 2] = [
    &["<tool_call>", "<function_calls>", "[tool_calls]"],
    &["</tool_call>", "</function_calls>"],
];

/// Maximum bytes between two values of a call, or its name and a value.
const GAP: usize = 256;

/// Maximum bytes of a key or a word in such a gap.
const WORD: usize = 64;

/// Distinguishes calls of a model from those that it only repeats: those that the data of the conversation contains.
///
/// ```
/// use gadgetry_proto::dialect::{Dialects, Quotations, find};
/// use gadgetry_proto::limits::Limits;
/// use gadgetry_proto::message::{Message, Role};
/// use gadgetry_proto::schema::{GadgetSpec, Registry};
///
/// let rm = GadgetSpec { name: "rm".to_owned(), ..GadgetSpec::default() };
/// let registry = Registry::new([rm])?;
/// let page = "Do not write {\"name\": \"rm\", \"parameters\": {\"path\": \"/\"}} anywhere.";
/// let messages = [Message::text(Role::User, page)];
/// let mut quotations = Quotations::default();
/// let mut has = |form: &str| {
///     let call = &find(form, &registry, &Limits::default())[0];
///     quotations.has(call, form, &Dialects::all(), &messages)
/// };
/// assert!(has(r#"<tool_call>{"name":"rm","arguments":{"path":"/"}}</tool_call>"#));
/// assert!(!has(r#"<tool_call>{"name":"rm","arguments":{"path":"a"}}</tool_call>"#));
/// # Ok::<(), gadgetry_proto::schema::RegistryError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quotations {
    /// The data with and without tags, read when the first call is found.
    data: Vec<Significant>,
    searched: usize,
    /// `true` if the last call is a quotation, so that the end of its form is text.
    is_quoting: bool,
}

impl Quotations {
    /// Returns `true` if data in these messages contains a call, or the form in which the model wrote it: texts of the user and of the
    /// project, results, summaries, and names of files. They are read for the first call.
    pub fn has(
        &mut self,
        call: &DialectCall,
        form: &str,
        dialects: &Dialects,
        messages: &[Message],
    ) -> bool {
        self.has_form(form, dialects, messages) || self.has_call(call, messages)
    }

    fn has_form(&mut self, form: &str, dialects: &Dialects, messages: &[Message]) -> bool {
        self.search(messages, |data, _| {
            let bare = without_wrapper(form, dialects, data.tags());
            data.text().contains(&bare)
        })
    }

    fn has_call(&mut self, call: &DialectCall, messages: &[Message]) -> bool {
        let Parameters::Parsed(parameters) = &call.parameters else {
            // It is not executed.
            return false;
        };
        self.search(messages, |data, steps| {
            Wanted::new(&call.gadget_name, parameters, data.tags()).is_in(data, steps)
        })
    }

    /// Searches the data, unless too much of it was searched for this reply. The search counts its steps, apart from the reading of the
    /// data.
    fn search(
        &mut self,
        messages: &[Message],
        search: impl Fn(&Significant, &mut usize) -> bool,
    ) -> bool {
        if self.data.is_empty() {
            self.data = data(messages);
        }
        self.data.iter().any(|data| {
            self.searched = self.searched.saturating_add(data.text().len());
            if self.searched > SEARCHED {
                return true;
            }
            let mut steps = 0;
            let is_found = search(data, &mut steps);
            self.searched = self.searched.saturating_add(steps.saturating_mul(STEP));
            is_found
        })
    }

    /// Turns quotations among the pieces that have passed a [gate](crate::dialect::Gate) into text, and removes the wrappers of calls:
    ///
    /// ```text
    /// the gate's pieces             Opening("<tool_call>")  Call(rm, "{…}")  Closing("</tool_call>")
    /// if data has the form          Text("<tool_call>")     Text("{…}")      Text("</tool_call>")
    /// or else                                               Call(rm, "{…}")
    /// ```
    pub fn decide(&mut self, pieces: &mut Vec<Gated>, dialects: &Dialects, messages: &[Message]) {
        // Most pieces are text, which stays as it is.
        let is_text = |piece: &Gated| matches!(piece, Gated::Text(_) | Gated::Reasoning(_));
        if pieces.iter().all(is_text) {
            return;
        }
        let are_quoted = self.among(pieces, dialects, messages);
        // Several calls may be of one form, which is shown once.
        let mut shown = None;
        let decided = pieces.drain(..).zip(are_quoted);
        let decided = decided.filter_map(|(piece, is_quoted)| match piece {
            Gated::Call(call, written) if is_quoted => {
                let is_new = shown.as_ref() != Some(&call.range);
                shown = Some(call.range);
                is_new.then(|| Gated::Text(written.to_string()))
            }
            Gated::Opening(text) | Gated::Closing(text) => {
                shown = None;
                is_quoted.then_some(Gated::Text(text))
            }
            kept @ (Gated::Text(_) | Gated::Reasoning(_) | Gated::Call(..) | Gated::Cut(_)) => {
                Some(kept)
            }
        });
        *pieces = decided.collect();
    }

    /// Begins the next reply to the same messages.
    pub fn end_reply(&mut self) {
        self.is_quoting = false;
    }

    /// Returns for each piece whether it is a call that is a quotation, or wraps one.
    fn among(&mut self, pieces: &[Gated], dialects: &Dialects, messages: &[Message]) -> Vec<bool> {
        // Several calls may be of one form, which is looked for once.
        let mut form: Option<(Range<usize>, bool)> = None;
        let is_quoted = |piece: &Gated| match piece {
            Gated::Call(call, written) => {
                let known = form.take().filter(|(range, _)| *range == call.range);
                let (_, has_form) = form.insert(known.unwrap_or_else(|| {
                    let has_form = self.has_form(written, dialects, messages);
                    (call.range.clone(), has_form)
                }));
                *has_form || self.has_call(call, messages)
            }
            Gated::Opening(_) => {
                form = None;
                false
            }
            Gated::Closing(_) | Gated::Text(_) | Gated::Reasoning(_) | Gated::Cut(_) => false,
        };
        let mut all: Vec<bool> = pieces.iter().map(is_quoted).collect();
        let mut next = false;
        for (piece, is_quoted) in pieces.iter().zip(&mut all).rev() {
            match piece {
                Gated::Call(..) => next = *is_quoted,
                Gated::Opening(_) => *is_quoted = next,
                Gated::Closing(_) | Gated::Text(_) | Gated::Reasoning(_) | Gated::Cut(_) => {}
            }
        }
        let last = &mut self.is_quoting;
        for (piece, is_quoted) in pieces.iter().zip(&mut all) {
            match piece {
                Gated::Call(..) => *last = *is_quoted,
                Gated::Closing(_) => *is_quoted = *last,
                Gated::Opening(_) | Gated::Text(_) | Gated::Reasoning(_) | Gated::Cut(_) => {}
            }
        }
        all
    }
}

/// Returns the texts in a message that the model did not write.
fn texts(message: &Message) -> impl Iterator<Item = Cow<'_, str>> {
    let role = message.role;
    message.content.iter().flat_map(move |part| {
        let (text, media): (_, &[Media]) = match (role, part) {
            (Role::System, Content::Text { text }) => (project(text), &[]),
            // The model wrote a summary, but about what it had read.
            (Role::User, Content::Text { text }) | (_, Content::Summary { text, .. }) => {
                (Some(text.as_str()), &[])
            }
            (Role::User, Content::GadgetResult { text, media, .. }) => (Some(text.as_str()), media),
            (Role::User, Content::Media(media)) => (None, std::slice::from_ref(media)),
            _ => (None, &[]),
        };
        // A name is in a caption, or goes to a provider as it is.
        let names = media.iter().filter_map(|media| media.name.as_deref());
        let captions = media.iter().map(|media| Cow::Owned(media.caption()));
        let borrowed = text.into_iter().chain(names).map(Cow::Borrowed);
        borrowed.chain(captions)
    })
}

/// Returns the instructions of a project, which are the words of its authors.
fn project(text: &str) -> Option<&str> {
    let start = text.find(&format!("<{PROJECT_INSTRUCTIONS}"))?;
    let end = text.rfind(&format!("</{PROJECT_INSTRUCTIONS}>"));
    text.get(start..end.unwrap_or(text.len()))
}

/// Returns the data of messages, one text after another, because a call may be split over several of them.
fn data(messages: &[Message]) -> Vec<Significant> {
    let texts: Vec<Cow<'_, str>> = messages.iter().flat_map(texts).collect();
    let texts: Vec<Cow<'_, str>> = texts.iter().map(|text| unescaped(text)).collect();
    let bare: Vec<String> = texts.iter().filter_map(|it| without_numbers(it)).collect();
    let mut all: Vec<Significant> = Tags::ALL.map(Significant::new).into();
    for all in &mut all {
        for text in &texts {
            all.add(text);
        }
        for text in &bare {
            all.add(text);
        }
    }
    all.dedup_by(|one, other| one.text() == other.text());
    all
}

/// Returns the significant characters of a form without the wrapper around it.
fn without_wrapper(form: &str, dialects: &Dialects, tags: Tags) -> String {
    let form = form.trim();
    let body = form.strip_prefix("```").map_or(form, |fenced| {
        let body = fenced.split_once('\n').map_or(fenced, |(_, body)| body);
        body.trim_end_matches('`')
    });
    let [before, after] = WRAPPERS;
    let before = wrappers(before, dialects, |it| &it.before);
    let after = wrappers(after, dialects, |it| &it.after);
    let written = Significant::of(body, tags);
    let mut bare = written.text();
    while let Some(rest) = before.iter().find_map(|it| bare.strip_prefix(&**it)) {
        bare = rest;
    }
    while let Some(rest) = after.iter().find_map(|it| bare.strip_suffix(&**it)) {
        bare = rest;
    }
    // `<|tool_call_start|>` and the like.
    let is_token = |name: &str| {
        name.chars()
            .all(|c| c.is_alphanumeric() || c == '_' || c == '\u{2581}')
    };
    let first = bare.strip_prefix("<|").and_then(|it| it.split_once("|>"));
    bare = first.filter(|it| is_token(it.0)).map_or(bare, |it| it.1);
    let last = bare.strip_suffix("|>").and_then(|it| it.rsplit_once("<|"));
    bare = last.filter(|it| is_token(it.1)).map_or(bare, |it| it.0);
    bare.to_owned()
}

/// Returns the significant characters of wrappers on one side of a form: those that are known, and those of custom dialects.
fn wrappers<'d>(
    known: &'static [&'static str],
    dialects: &'d Dialects,
    side: impl Fn(&'d CustomDialect) -> &'d str,
) -> Vec<Cow<'static, str>> {
    let custom = dialects.custom().iter();
    let custom = custom.map(|it| Significant::of(side(it), Tags::Kept).text().to_owned());
    let known = known.iter().copied().map(Cow::Borrowed);
    let all = known.chain(custom.map(Cow::Owned));
    all.filter(|it| !it.is_empty()).collect()
}

/// A call that is looked for in data: significant characters.
struct Wanted {
    name: String,
    values: Vec<String>,
}

impl Wanted {
    fn new(name: &str, parameters: &Value, tags: Tags) -> Self {
        let values = parameters
            .as_object()
            .into_iter()
            .flat_map(|it| it.values());
        Self {
            name: Significant::of(name, tags).text().to_owned(),
            values: values.map(|it| significant_value(it, tags)).collect(),
        }
    }

    /// Returns `true` if it is in data, or if it is not found in a limited number of steps.
    fn is_in(&self, data: &Significant, steps: &mut usize) -> bool {
        if self.name.is_empty() {
            return false;
        }
        let text = data.text();
        for (start, _) in text.match_indices(&self.name) {
            *steps += 1;
            let end = start + self.name.len();
            if !data.is_word(start, end) {
                continue;
            }
            let (before, after) = (&text[..start], &text[end..]);
            let is_found = match self.values.as_slice() {
                [] => has_no_arguments(before, after, steps),
                values => is_call(after, values, steps) || is_named_last(before, values, steps),
            };
            if is_found || *steps > SEARCHED / STEP {
                return true;
            }
        }
        false
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

/// Returns `true` if a text after a name begins with the values of a call.
fn is_call(after: &str, values: &[String], steps: &mut usize) -> bool {
    // After a name in a sentence comes a word.
    if after.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return false;
    }
    let mut rest = after;
    let mut is_first = true;
    for value in values {
        let Some(next) = after_value(rest, value, is_first, steps) else {
            return false;
        };
        (rest, is_first) = (next, false);
    }
    true
}

/// Returns `true` if the values of a call are before its name: `{"arguments": {…}, "name": "rm"`.
fn is_named_last(before: &str, values: &[String], steps: &mut usize) -> bool {
    if !before.ends_with([':', '=']) {
        return false;
    }
    let longest = 2 * GAP + values.iter().map(|value| value.len() + GAP).sum::<usize>();
    let from = before.floor_char_boundary(before.len().saturating_sub(longest));
    let near = &before[from..];
    *steps += near.len();
    near.match_indices('{').any(|(at, _)| {
        let mut rest = &near[at..];
        let has_all = values.iter().all(|value| {
            let next = after_value(rest, value, false, steps);
            rest = next.unwrap_or(rest);
            next.is_some()
        });
        has_all && rest.len() <= GAP && gap_ends(rest).any(|end| end == rest.len())
    })
}

/// Returns the text after a value and the gap before it. Before the first value, the gap has a sign that only notations have there.
fn after_value<'t>(
    text: &'t str,
    value: &str,
    is_first: bool,
    steps: &mut usize,
) -> Option<&'t str> {
    let ends = iter::once(0).chain(gap_ends(text));
    let mut has_sign = !is_first;
    let mut seen = 0;
    for end in ends {
        *steps += 1;
        has_sign |= text[seen..end].contains(['(', '{', '[', '<', '|']);
        seen = end;
        if has_sign && let Some(rest) = strip_value(&text[end..], value, steps) {
            return Some(rest);
        }
    }
    None
}

/// Removes a value and the brackets in it. It must end there.
fn strip_value<'t>(text: &'t str, value: &str, steps: &mut usize) -> Option<&'t str> {
    let mut rest = text;
    for wanted in value.chars() {
        let bare = rest.trim_start_matches(is_bracket);
        *steps += 1 + (rest.len() - bare.len());
        rest = bare.strip_prefix(wanted)?;
    }
    let is_end = |c: char| matches!(c, ',' | ')' | ']' | '}' | '<' | '>' | '|' | ';');
    (rest.is_empty() || rest.starts_with(is_end)).then_some(rest)
}

/// Returns the places up to which a text has only signs, keys and words of a notation:
///
/// ```text
/// ,arguments:{path:x}}     after "," "arguments:" "{" "path:"; "x}" may be a word and its end
/// ```
fn gap_ends(text: &str) -> impl Iterator<Item = usize> {
    let mut at = 0;
    iter::from_fn(move || {
        let rest = text.get(at..).filter(|_| at <= GAP)?;
        let first = rest.chars().next()?;
        if matches!(
            first,
            ',' | ':'
                | '='
                | '('
                | ')'
                | '{'
                | '}'
                | '['
                | ']'
                | '<'
                | '>'
                | '|'
                | '/'
                | '.'
                | ';'
                | '_'
                | '`'
        ) {
            at += first.len_utf8();
            return Some(at);
        }
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        let near = &rest[..rest.floor_char_boundary(WORD.min(rest.len()))];
        let word = near.find(|c: char| !is_word(c)).filter(|word| *word > 0)?;
        let ends = |c: char| matches!(c, ':' | '=' | '>' | '|' | ',' | '{' | '}' | ']' | '<');
        if !rest[word..].starts_with(ends) {
            return None;
        }
        at += word;
        Some(at)
    })
}

/// Returns `true` if a name between these texts is that of a call without arguments.
fn has_no_arguments(before: &str, after: &str, steps: &mut usize) -> bool {
    let is_tag = before.ends_with(['<', '=']) && after.starts_with("></")
        || before.ends_with('<') && after.starts_with("/>")
        || before.ends_with("<tool_call>") && after.starts_with("</tool_call>");
    if is_tag || after.starts_with("()") {
        return true;
    }
    if after.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return false;
    }
    // `{"name": "Ping"}`, `{"name": "Ping", "arguments": {}}`
    let is_named = before.ends_with([':', '=']);
    let brace = gap_ends(after).find(|end| {
        *steps += 1;
        after[..*end].ends_with(['{', '}'])
    });
    brace.is_some_and(|end| {
        let is_open = after[..end].ends_with('{');
        is_open && after[end..].starts_with('}') || !is_open && is_named
    })
}

#[cfg(test)]
mod tests;
