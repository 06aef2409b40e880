//! A client's conversation as the text that a text model reads.
//!
//! Each message depends only on those before it, so the prompt of one turn is a prefix of that of the next, and the upstream's
//! prompt cache stays valid. Calls are written as the model would write them, and results follow in the order of their calls:
//!
//! ```text
//! <<<RESULT users Fetch ok horn core>>>
//! …
//! <<<END horn core>>>
//! ```
//!
//! The words are a secret of the conversation, derived with a secret of the process, so they change when the process restarts. Text
//! that begins like an envelope is altered, so no result can end its own envelope.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use gadgetry_proto::block::Writer;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::convo::escape_markers;
use gadgetry_proto::message::{Content, Media, Message, Role};
use gadgetry_proto::prompt::json_call;
use gadgetry_proto::schema::RegisteredGadget;
use gadgetry_proto::visible::visible_line;
use serde_json::Value;

use super::call_ids::PromptIds;
use super::held::{Allowance, HeldCall, Results};
use super::instructions::ANCHORING;
use super::rules::Secrets;
use super::setup::Setup;
use super::toolset::Toolset;

/// Text of a missing result.
const NO_RESULT: &str = "[no result]";

/// Writes the conversation of a request.
pub(super) struct HistoryWriter<'a> {
    tools: &'a Toolset,
    secrets: &'a Secrets,
    form: CallForm,
    /// Calls of an exchange that wait for others, by the id of the exchange.
    held: &'a dyn Fn(u128) -> Vec<HeldCall>,
}

/// A call that has no result yet.
struct UnansweredCall {
    client_id: String,
    id: String,
    name: String,
}

/// A conversation while it is written.
struct Draft<'w, 'a> {
    writer: &'w HistoryWriter<'a>,
    out: Vec<Message>,
    ids: PromptIds,
    /// The calls of the last reply, in order.
    open: Vec<UnansweredCall>,
    /// The exchange of the calls in the last reply.
    exchange: Option<u128>,
    /// Calls that wait for others, by their exchange, until they are offered. A client may refer to an exchange in any number of
    /// replies.
    held: HashMap<u128, Vec<HeldCall>>,
    /// Bytes that may still be written for these calls.
    allowance: Allowance,
}

impl<'a> HistoryWriter<'a> {
    /// Begins with the tools, secrets and form of calls of an exchange.
    pub(super) fn of(setup: &'a Setup, held: &'a dyn Fn(u128) -> Vec<HeldCall>) -> Self {
        Self {
            tools: setup.tools(),
            secrets: setup.secrets(),
            form: setup.rules.call_form(),
            held,
        }
    }

    /// Returns the messages as text and media.
    pub(super) fn write(&self, messages: &[Message]) -> Vec<Message> {
        let mut draft = Draft {
            writer: self,
            out: Vec::new(),
            ids: PromptIds::default(),
            open: Vec::new(),
            exchange: None,
            held: HashMap::new(),
            allowance: Allowance::default(),
        };
        for message in messages {
            draft.message(message);
        }
        draft.out
    }

    /// Returns text of the user, of a result or of an earlier reply, with markers and envelopes escaped.
    pub(super) fn neutral<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = escape_markers(text, &self.secrets.markers);
        let mut text = text;
        for opener in ["<<<RESULT", "<<<END"] {
            text = broken(text, opener);
        }
        if self.form == CallForm::Json {
            for tag in ["<tool_call>", "</tool_call>"] {
                text = broken(text, tag);
            }
        }
        text
    }

    /// Returns the envelope of a result.
    pub(super) fn envelope(&self, id: &str, name: &str, status: &str, text: &str) -> String {
        let word = &self.secrets.word;
        let (id, name) = (visible_line(id), visible_line(name));
        let head = format!("{id} {name} {status}");
        let head = self.neutral(&head);
        let text = self.neutral(text);
        format!("<<<RESULT {head} {word}>>>\n{text}\n<<<END {word}>>>")
    }

    /// Writes a call as the model would write it.
    pub(super) fn call(&self, out: &mut String, id: &str, name: &str, input: &Value) {
        self.call_after(out, id, name, &[], input);
    }

    fn call_after(&self, out: &mut String, id: &str, name: &str, after: &[String], input: &Value) {
        let schema = self.tools.registered(name).map(RegisteredGadget::schema);
        let block_name = self.tools.block_name(name).unwrap_or(name);
        if self.form == CallForm::Json {
            begin_line(out);
            out.push_str(&json_call(block_name, input));
            out.push('\n');
            return;
        }
        let markers = &self.secrets.markers;
        let writer = Writer {
            markers,
            anchoring: ANCHORING,
        };
        if writer
            .write(out, block_name, Some(id), after, input, schema)
            .is_ok()
        {
            return;
        }
        // A call of an unknown tool, or with something else than an object: shown, as far as a block can.
        let name = visible_line(block_name);
        let name = self.neutral(&name);
        let body = input
            .as_str()
            .map_or_else(|| input.to_string(), str::to_owned);
        let body = self.neutral(&body);
        let (start, end) = (markers.start(), markers.end());
        begin_line(out);
        // Writing to a string does not fail.
        let _ = writeln!(out, "{start}{name}:{id}\n{body}\n{end}");
    }
}

impl Draft<'_, '_> {
    fn message(&mut self, message: &Message) {
        match message.role {
            Role::System => self.system(message),
            Role::Assistant => self.reply(message),
            // The user, and any other author: the user has the least weight.
            Role::User | _ => self.user(message),
        }
    }

    fn system(&mut self, message: &Message) {
        // A later one is not pushed as one, so that the last says what all before it are.
        let is_first = self.out.last().is_none_or(|it| it.role == Role::System);
        let text = joined(&message.content, Cow::Borrowed);
        if is_first {
            self.out.push(Message::text(Role::System, text));
        } else {
            // A system message within the conversation stays in its place, so that what is before it stays the same.
            self.no_results();
            let text = format!("System message:\n{text}");
            self.out.push(Message::text(Role::User, text));
        }
    }

    fn reply(&mut self, message: &Message) {
        self.no_results();
        let mut text = String::new();
        let mut exchange = None;
        for part in &message.content {
            match part {
                Content::Text { text: said } => text.push_str(&self.writer.neutral(said)),
                Content::ToolUse {
                    tool_use_id,
                    name,
                    input,
                } => {
                    let id = self.ids.add(tool_use_id);
                    self.writer.call(&mut text, &id, name, input);
                    exchange = exchange.or(super::call_ids::parts(tool_use_id).map(|(it, _)| it));
                    self.open.push(UnansweredCall {
                        client_id: tool_use_id.clone(),
                        id,
                        name: name.clone(),
                    });
                }
                // Reasoning is not replayed, and data of another provider means nothing here.
                _ => {}
            }
        }
        self.exchange = exchange;
        if let Some(exchange) = exchange
            && !self.held.contains_key(&exchange)
        {
            let held = (self.writer.held)(exchange);
            for call in &held {
                self.writer.call_after(
                    &mut text,
                    &call.id,
                    &call.name,
                    &call.dependencies,
                    &call.input,
                );
            }
            self.held.insert(exchange, held);
        }
        if !text.trim().is_empty() {
            self.out.push(Message::text(Role::Assistant, text));
        }
    }

    fn user(&mut self, message: &Message) {
        let mut results: Vec<&Content> = Vec::new();
        let mut rest: Vec<&Content> = Vec::new();
        for part in &message.content {
            match part {
                Content::GadgetResult { .. } => results.push(part),
                _ => rest.push(part),
            }
        }
        let mut content = self.results(&results);
        for part in rest {
            match part {
                Content::Text { text } => content.push(Content::Text {
                    text: self.writer.neutral(text).into_owned(),
                }),
                Content::Media(medium) => content.push(Content::Media(medium.clone())),
                _ => {}
            }
        }
        self.push_user(content);
    }

    /// Returns the results in the order of their calls, then those without a call. A call without a result gets one that says so.
    fn results(&mut self, results: &[&Content]) -> Vec<Content> {
        let mut texts = Vec::new();
        let mut media: Vec<Media> = Vec::new();
        let mut known: HashSet<usize> = HashSet::new();
        // Of two results for one call, the first counts.
        let mut by_id: HashMap<&str, usize> = HashMap::new();
        for (at, result) in results.iter().enumerate() {
            if let Content::GadgetResult { invocation_id, .. } = result {
                by_id.entry(invocation_id.as_str()).or_insert(at);
            }
        }
        let open = std::mem::take(&mut self.open);
        let mut answered = Results::default();
        for call in &open {
            let found = by_id.get(call.client_id.as_str()).copied();
            let name = self
                .writer
                .tools
                .block_name(&call.name)
                .unwrap_or(&call.name);
            match found.map(|at| (at, results[at])) {
                Some((
                    at,
                    Content::GadgetResult {
                        text,
                        is_error,
                        media: own,
                        ..
                    },
                )) => {
                    known.insert(at);
                    let status = if *is_error { "error" } else { "ok" };
                    let shown = with_captions(text, own);
                    texts.push(self.writer.envelope(&call.id, name, status, &shown));
                    media.extend(own.iter().cloned());
                    answered.add(&call.id, text, *is_error);
                }
                _ => texts.push(self.writer.envelope(&call.id, name, "missing", NO_RESULT)),
            }
        }
        for (at, result) in results.iter().enumerate() {
            let Content::GadgetResult {
                invocation_id,
                gadget_name,
                text,
                is_error,
                media: own,
                ..
            } = result
            else {
                continue;
            };
            if known.contains(&at) {
                continue;
            }
            let id = invocation_id.as_str();
            let id = self.ids.get(id).unwrap_or(id).to_owned();
            let name = if gadget_name.is_empty() {
                "unknown"
            } else {
                gadget_name
            };
            let status = if *is_error { "error" } else { "ok" };
            texts.push(
                self.writer
                    .envelope(&id, name, status, &with_captions(text, own)),
            );
            media.extend(own.iter().cloned());
        }
        self.offer(&answered, &mut texts);
        let mut content = Vec::new();
        if !texts.is_empty() {
            content.push(Content::Text {
                text: texts.join("\n"),
            });
        }
        content.extend(media.into_iter().map(Content::Media));
        content
    }

    /// Adds the texts about calls that waited for those of the last reply. A call is offered once.
    fn offer(&mut self, results: &Results, texts: &mut Vec<String>) {
        let exchange = self.exchange.take();
        let Some(held) = exchange.and_then(|it| self.held.get_mut(&it)) else {
            return;
        };
        let (writer, allowance) = (self.writer, &mut self.allowance);
        held.retain(|call| {
            // What is written of calls that wait has an end, also for those that never have their results.
            if allowance.is_empty() {
                return false;
            }
            let (text, waits) = match call.filled(results, allowance) {
                Ok(input) => {
                    let mut block = String::new();
                    writer.call(&mut block, &call.id, &call.name, &input);
                    let intro = "Not executed, because it waited for other calls. With their results it is the block below. \
                                 If it is still needed, write it in your reply.";
                    let head = writer.envelope(&call.id, &call.name, "waiting", intro);
                    (format!("{head}\n{block}"), false)
                }
                Err(problem) => {
                    let text = format!("Not executed: {problem}");
                    let text = writer.envelope(&call.id, &call.name, "error", &text);
                    // It was counted if it is too large, and is the last one then.
                    let _ = allowance.take(text.len());
                    (text, true)
                }
            };
            texts.push(text);
            waits
        });
    }

    /// Adds results for unanswered calls.
    fn no_results(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let content = self.results(&[]);
        self.push_user(content);
    }

    fn push_user(&mut self, mut content: Vec<Content>) {
        // A user who types in place of results answers nothing: the calls before have no result.
        if !self.open.is_empty() {
            let missing = self.results(&[]);
            content.splice(0..0, missing);
        }
        if !content.is_empty() {
            self.out.push(user(apart(content)));
        }
    }
}

/// Returns `text` with U+200B after the first character of each `needle`.
fn broken<'t>(text: Cow<'t, str>, needle: &str) -> Cow<'t, str> {
    let first = needle.chars().next().map_or(0, char::len_utf8);
    if first == 0 || !text.contains(needle) {
        return text;
    }
    let (head, tail) = needle.split_at(first);
    Cow::Owned(text.replace(needle, &format!("{head}\u{200B}{tail}")))
}

fn begin_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

/// Joins the texts of a message, with a blank line between them.
pub(super) fn joined<'m>(content: &'m [Content], read: impl Fn(&'m str) -> Cow<'m, str>) -> String {
    let texts = content.iter().filter_map(|part| match part {
        Content::Text { text } => Some(read(text)),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Returns the messages for a template without a system role, or in which roles must alternate.
pub(super) fn shaped(
    mut messages: Vec<Message>,
    has_system_role: bool,
    alternates: bool,
) -> Vec<Message> {
    if !has_system_role {
        let of_system = messages
            .iter()
            .take_while(|it| it.role == Role::System)
            .count();
        let system: Vec<Content> = messages
            .drain(..of_system)
            .flat_map(|it| it.content)
            .collect();
        if !system.is_empty() {
            match messages.first_mut() {
                Some(first) if first.role == Role::User => {
                    first.content.splice(0..0, system);
                    first.content = apart(std::mem::take(&mut first.content));
                }
                _ => messages.insert(0, user(apart(system))),
            }
        }
    }
    if !alternates {
        return messages;
    }
    let mut out: Vec<Message> = Vec::new();
    // The last message is several, and their texts are to be joined once, not with each of them again.
    let mut is_several = false;
    let close = |last: Option<&mut Message>, is_several: &mut bool| {
        if let Some(last) = last.filter(|_| std::mem::take(is_several)) {
            last.content = apart(std::mem::take(&mut last.content));
        }
    };
    for message in messages {
        match out.last_mut() {
            Some(last) if last.role == message.role && last.role != Role::System => {
                last.content.extend(message.content);
                is_several = true;
            }
            mut before => {
                close(before.as_deref_mut(), &mut is_several);
                let begins = before.is_none_or(|it| it.role == Role::System);
                if begins && message.role == Role::Assistant {
                    out.push(Message::text(Role::User, "Begin."));
                }
                out.push(message);
            }
        }
    }
    close(out.last_mut(), &mut is_several);
    out
}

/// Returns the text of a result, with a caption for each medium that follows the results.
fn with_captions<'t>(text: &'t str, media: &[Media]) -> Cow<'t, str> {
    if media.is_empty() {
        return Cow::Borrowed(text);
    }
    let captions = media.iter().map(Media::caption);
    let all: Vec<String> = std::iter::once(text.to_owned())
        .filter(|it| !it.is_empty())
        .chain(captions)
        .collect();
    Cow::Owned(all.join("\n"))
}

/// Joins adjacent texts, with a blank line between them.
fn apart(content: Vec<Content>) -> Vec<Content> {
    let mut out: Vec<Content> = Vec::new();
    for part in content {
        match (out.last_mut(), part) {
            (Some(Content::Text { text: before }), Content::Text { text }) => {
                let end = before.trim_end_matches('\n').len();
                before.truncate(end);
                before.push_str("\n\n");
                before.push_str(&text);
            }
            (_, part) => out.push(part),
        }
    }
    out
}

fn user(content: Vec<Content>) -> Message {
    Message::new(Role::User, content)
}
