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
//! The heads of lines do not count: signs, line numbers and the like, which programs put before what they show.
//!
//! A sentence does not quote a call: "Translate text Hello to fr" has no signs of a notation after the name.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter;
use std::ops::Range;

use wanted::{STEP, Steps, Wanted};

use crate::call::Parameters;
use crate::dialect::significant::{Significant, Tags};
use crate::dialect::{CustomDialect, DialectCall, Dialects, Gated};
use crate::escapes::unescaped;
use crate::media::Media;
use crate::message::{Content, Message, Role};

/// Element in system messages with the instructions of a project, which are the words of its authors. Calls in it are data.
pub const PROJECT_INSTRUCTIONS: &str = "project_instructions";

/// Bytes of data that are searched for the calls of one reply. After that, every call counts as a quotation.
const SEARCHED: usize = 256 << 20;

/// Significant characters of wrappers of forms, before and after them.
const WRAPPERS: [&[&str]; 2] = [
    &["<tool_call>", "<function_calls>", "[tool_calls]"],
    &["</tool_call>", "</function_calls>"],
];

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
    /// Data next to the messages.
    more: Vec<String>,
    /// Names that data has for gadgets, by their own.
    names: BTreeMap<String, String>,
    /// The data with and without tags, read when the first call is found.
    data: Vec<Significant>,
    /// The same without the heads of lines.
    bare: Vec<(Tags, String)>,
    searched: usize,
    /// `true` if the last call is a quotation, so that the end of its form is text.
    is_quoting: bool,
}

impl Quotations {
    /// Begins with texts that the model reads next to the messages.
    pub fn with_data(more: Vec<String>) -> Self {
        Self {
            more,
            ..Self::default()
        }
    }

    /// Adds other names of gadgets, after their own: data has those of a client, and the model reads others if some characters cannot be
    /// in a block.
    #[must_use]
    pub fn with_names(mut self, names: impl IntoIterator<Item = (String, String)>) -> Self {
        self.names.extend(names);
        self
    }

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
        self.read(messages);
        let written = |tags| Significant::of(body(form), tags);
        let searched = &mut self.searched;
        let mut has = |data: &str, form: &str| {
            *searched = searched.saturating_add(data.len());
            *searched > SEARCHED || data.contains(without_wrapper(form, dialects))
        };
        // The tags of a form may have its names.
        let mut data = self.data.iter().filter(|it| it.tags() != Tags::Removed);
        let mut bare = self.bare.iter();
        data.any(|data| has(data.text(), written(data.tags()).text()))
            || bare.any(|(tags, bare)| has(bare, &written(*tags).bare()))
    }

    fn has_call(&mut self, call: &DialectCall, messages: &[Message]) -> bool {
        let Parameters::Parsed(parameters) = &call.parameters else {
            // It is not executed.
            return false;
        };
        self.read(messages);
        let other = self.names.get(&call.gadget_name);
        let names = iter::once(&call.gadget_name).chain(other);
        let all = names.flat_map(|name| self.data.iter().map(move |data| (name, data)));
        let mut all = all.map(|(name, data)| {
            self.searched = self.searched.saturating_add(data.text().len());
            let Some(left) = SEARCHED.checked_sub(self.searched) else {
                return true;
            };
            let mut steps = Steps::new(left / STEP);
            let wanted = Wanted::new(name, parameters, data.tags());
            let is_found = wanted.is_some_and(|wanted| wanted.is_in(data, &mut steps));
            self.searched = SEARCHED - steps.left() * STEP;
            is_found
        });
        all.any(|is_found| is_found)
    }

    fn read(&mut self, messages: &[Message]) {
        if self.data.is_empty() {
            self.data = data(messages, &self.more);
            let has_heads = |it: &&Significant| it.tags() != Tags::Removed && it.has_heads();
            let bare = self.data.iter().filter(has_heads);
            self.bare = bare.map(|it| (it.tags(), it.bare())).collect();
        }
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

/// Returns the texts in a part of a message that the model did not write. The names of media follow.
fn texts(role: Role, part: &Content) -> (Option<&str>, &[Media]) {
    match (role, part) {
        (Role::System, Content::Text { text }) => (project(text), &[]),
        // The model wrote a summary, but about what it had read.
        (Role::User, Content::Text { text }) | (_, Content::Summary { text, .. }) => {
            (Some(text.as_str()), &[])
        }
        (Role::User, Content::GadgetResult { text, media, .. }) => (Some(text.as_str()), media),
        (Role::User, Content::Media(media)) => (None, std::slice::from_ref(media)),
        _ => (None, &[]),
    }
}

/// Returns the instructions of a project, which are the words of its authors.
fn project(text: &str) -> Option<&str> {
    let start = text.find(&format!("<{PROJECT_INSTRUCTIONS}"))?;
    let end = text.rfind(&format!("</{PROJECT_INSTRUCTIONS}>"));
    text.get(start..end.unwrap_or(text.len()))
}

/// Returns the data of messages and more data, one text after another, because a call may be split over several of them: in the order
/// of the messages, and where it is another one, as a model reads them.
fn data(messages: &[Message], more: &[String]) -> Vec<Significant> {
    let (written, sent) = (in_order(messages), as_sent(messages));
    let sent = if sent == written { Vec::new() } else { sent };
    let more = more.iter().map(|it| Cow::Borrowed(it.as_str()));
    let texts: Vec<Cow<'_, str>> = written.into_iter().chain(sent).chain(more).collect();
    let texts: Vec<Cow<'_, str>> = texts.iter().map(|text| unescaped(text)).collect();
    let has_tags = texts.iter().any(|text| text.contains('<'));
    let ways = if has_tags {
        &Tags::ALL[..]
    } else {
        &[Tags::Kept]
    };
    let mut all: Vec<Significant> = ways.iter().map(|tags| Significant::new(*tags)).collect();
    for all in &mut all {
        for text in &texts {
            all.add(text);
        }
    }
    all.dedup_by(|one, other| one.text() == other.text());
    all
}

/// Returns texts with the names and captions of media where these are.
fn in_order(messages: &[Message]) -> Vec<Cow<'_, str>> {
    let all = messages.iter().flat_map(|message| {
        message.content.iter().flat_map(|part| {
            let (text, media) = texts(message.role, part);
            // A name is in a caption, or goes to a provider as it is.
            let names = media.iter().filter_map(|media| media.name.as_deref());
            let captions = media.iter().map(|media| Cow::Owned(media.caption()));
            let borrowed = text.into_iter().chain(names).map(Cow::Borrowed);
            borrowed.chain(captions)
        })
    });
    all.collect()
}

/// Returns texts without media between them. Results are first, in the order of their calls.
fn as_sent(messages: &[Message]) -> Vec<Cow<'_, str>> {
    let calls = messages.iter().flat_map(|message| &message.content);
    let calls = calls.filter_map(|part| {
        let Content::ToolUse { tool_use_id, .. } = part else {
            return None;
        };
        Some(tool_use_id.as_str())
    });
    let places: BTreeMap<&str, usize> = calls.enumerate().map(|(at, id)| (id, at)).collect();
    let place = |part: &&Content| {
        let Content::GadgetResult { invocation_id, .. } = part else {
            return (true, 0);
        };
        let place = places.get(invocation_id.as_str());
        (false, place.map_or(usize::MAX, |at| *at))
    };
    let all = messages.iter().flat_map(|message| {
        let mut parts: Vec<&Content> = message.content.iter().collect();
        parts.sort_by_key(place);
        let texts = parts.into_iter().map(|part| texts(message.role, part).0);
        texts.flatten().map(Cow::Borrowed)
    });
    all.collect()
}

/// Returns a form without a code fence around it.
fn body(form: &str) -> &str {
    let form = form.trim();
    form.strip_prefix("```").map_or(form, |fenced| {
        let body = fenced.split_once('\n').map_or(fenced, |(_, body)| body);
        body.trim_end_matches('`')
    })
}

/// Returns the significant characters of a form without those of the wrapper around it.
fn without_wrapper<'f>(form: &'f str, dialects: &Dialects) -> &'f str {
    let [before, after] = WRAPPERS;
    let before = wrappers(before, dialects, |it| &it.before);
    let after = wrappers(after, dialects, |it| &it.after);
    let mut bare = form;
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
    last.filter(|it| is_token(it.1)).map_or(bare, |it| it.0)
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

#[cfg(test)]
mod tests;
mod wanted;
