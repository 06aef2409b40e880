//! A conversation as the messages of the API.

use std::collections::{HashMap, HashSet};

use gadgetry_proto::message::{Content, Media, MediaData, MediaKind, Message, Request, Role};
use serde_json::{Value, json};

use crate::anthropic::{API, Messages, Thinking};
use crate::conversation::{Piece, answered, native_call, part_of, pieces, provider_data};
use crate::wire::Wire as _;

/// Messages of the user where the API requires one.
const BEGINS: &str = "(The conversation begins here.)";
const CONTINUE: &str = "Continue.";

/// System texts and turns, ready to be sent.
pub(super) struct Conversation<'w> {
    wire: &'w Messages,
    system: Vec<Value>,
    turns: Vec<Turn>,
    /// The turn and part up to which a later request is the same.
    kept: Option<(usize, usize)>,
    /// Number of calls for each id.
    ids: HashMap<String, u32>,
}

struct Turn {
    role: Role,
    parts: Vec<Value>,
    /// Invocation id → id as sent, of the calls in it that the next message answers.
    calls: HashMap<String, String>,
}

impl<'w> Conversation<'w> {
    pub(super) fn of(wire: &'w Messages, request: &Request) -> Self {
        let mut conversation = Self {
            wire,
            system: Vec::new(),
            turns: Vec::new(),
            kept: None,
            ids: HashMap::new(),
        };
        let messages: Vec<&Message> = request.all_messages().collect();
        for (at, message) in messages.iter().enumerate() {
            conversation.message(message, messages.get(at + 1).copied());
            if at + 1 == request.messages.len() {
                conversation.kept = conversation.last_of_user();
            }
        }
        conversation
    }

    /// Returns whether the model may think. With a budget the API requires thinking before the calls whose results come last.
    pub(super) fn admits(&self, thinking: &Thinking) -> bool {
        let Thinking::Budget(_) = thinking else {
            return true;
        };
        let [.., reply, last] = self.turns.as_slice() else {
            return true;
        };
        let answers = last.parts.iter().any(|part| part["type"] == "tool_result");
        let first = reply.parts.first().map(|part| &part["type"]);
        !answers || first.is_some_and(|it| it == "thinking" || it == "redacted_thinking")
    }

    /// The system texts and the turns, with marks up to which the provider caches.
    pub(super) fn finish(mut self, cache_control: Option<Value>) -> (Option<Value>, Value) {
        if let Some(mark) = cache_control {
            let kept = self
                .kept
                .and_then(|(turn, part)| self.turns.get_mut(turn)?.parts.get_mut(part));
            for part in self.system.last_mut().into_iter().chain(kept) {
                part["cache_control"] = mark.clone();
            }
        }
        let turns = &mut self.turns;
        if turns
            .first()
            .is_some_and(|turn| turn.role == Role::Assistant)
        {
            turns.insert(0, Turn::said(BEGINS));
        }
        if turns
            .last()
            .is_some_and(|turn| turn.role == Role::Assistant)
        {
            turns.push(Turn::said(CONTINUE));
        }
        let turns = self.turns.into_iter().map(|turn| {
            let role = if turn.role == Role::Assistant {
                "assistant"
            } else {
                "user"
            };
            json!({"role": role, "content": turn.parts})
        });
        let system = (!self.system.is_empty()).then_some(Value::Array(self.system));
        (system, turns.collect())
    }

    fn message(&mut self, message: &Message, next: Option<&Message>) {
        match message.role {
            Role::System if self.turns.is_empty() => {
                let parts = text_part(&self.text(message));
                self.system.extend(parts);
            }
            Role::System => {
                let parts = text_part(&self.text(message)).into_iter().collect();
                self.say(Role::User, parts, HashMap::new());
            }
            Role::Assistant => self.assistant(message, next),
            // The user, and any role that this API does not have: the author with the least weight.
            Role::User | _ => self.user(message),
        }
    }

    /// A reply as it was written, but for calls that go through the provider's interface and that `next` answers.
    fn assistant(&mut self, message: &Message, next: Option<&Message>) {
        let open: HashSet<&str> = match next {
            Some(next) if self.wire.common.is_native() => answered(next).collect(),
            _ => HashSet::new(),
        };
        let mut calls = HashMap::new();
        let mut tools = Vec::new();
        let mut said = Vec::new();
        // Signed thinking is valid in its position only: think, call, think, call must not become think, think, call, call.
        let mut parts = Vec::new();
        let keeps = message.content.iter().any(|part| self.kept(part).is_some());
        for part in &message.content {
            if let Some(kept) = self.kept(part) {
                self.flush_reply(&mut said, message, &mut parts);
                parts.push(kept.clone());
                continue;
            }
            let Some((id, name, input)) = native_call(part).filter(|(id, ..)| open.contains(id))
            else {
                said.push(part.clone());
                continue;
            };
            let sent = self.id(id);
            let tool = json!({
                "type": "tool_use",
                "id": sent,
                "name": self.wire.common.tool_names.sent(name),
                "input": input,
            });
            calls.insert(id.to_owned(), sent);
            if keeps {
                self.flush_reply(&mut said, message, &mut parts);
                parts.push(tool);
            } else {
                tools.push(tool);
            }
        }
        if calls.is_empty() {
            // The reply is text alone. The API refuses thinking that neither text nor a call follows.
            let text = text_part(self.text(message).trim_end());
            parts.retain(|part| part["type"] != "text" && text.is_some());
            parts.extend(text);
        } else {
            self.flush_reply(&mut said, message, &mut parts);
            parts.append(&mut tools);
        }
        self.say(Role::Assistant, parts, calls);
    }

    /// Data to send back, if this API and this model gave it.
    fn kept<'m>(&self, part: &'m Content) -> Option<&'m Value> {
        provider_data(part, API, self.wire.common.keeps()?)
    }

    /// The text of a part of a reply. The API refuses whitespace at the end of one.
    fn flush_reply(&self, said: &mut Vec<Content>, of: &Message, parts: &mut Vec<Value>) {
        if !said.is_empty() {
            let text = self.text(&part_of(of, std::mem::take(said)));
            parts.extend(text_part(text.trim_end()));
        }
    }

    /// A message of the user. The API requires results of tools first.
    fn user(&mut self, message: &Message) {
        let mut called = match self.turns.last_mut() {
            Some(turn) => std::mem::take(&mut turn.calls),
            None => HashMap::new(),
        };
        let mut parts = Vec::new();
        let mut rest = Vec::new();
        for part in &message.content {
            if let Content::GadgetResult {
                invocation_id,
                text,
                is_error,
                media,
                ..
            } = part
                && let Some(id) = called.remove(invocation_id.as_str())
            {
                let mut content: Vec<Value> = text_part(text).into_iter().collect();
                let sent = media.iter().filter(|it| self.wire.leaves_out(it).is_none());
                content.extend(sent.map(media_part));
                let mut result =
                    json!({"type": "tool_result", "tool_use_id": id, "content": content});
                if *is_error {
                    result["is_error"] = true.into();
                }
                parts.push(result);
            } else {
                rest.push(part.clone());
            }
        }
        parts.extend(self.parts(&rest, message));
        self.say(Role::User, parts, HashMap::new());
    }

    fn say(&mut self, role: Role, parts: Vec<Value>, calls: HashMap<String, String>) {
        if parts.is_empty() {
            return;
        }
        match self.turns.last_mut() {
            Some(turn) if turn.role == role => {
                turn.parts.extend(parts);
                turn.calls.extend(calls);
            }
            _ => self.turns.push(Turn { role, parts, calls }),
        }
    }

    fn parts(&self, content: &[Content], of: &Message) -> Vec<Value> {
        let takes = |medium: &Media| self.wire.leaves_out(medium).is_none();
        let pieces = pieces(&self.wire.common.options, content, of, takes);
        let parts = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Text(text) => text_part(&text),
            Piece::Media(medium) => Some(media_part(medium)),
        });
        parts.collect()
    }

    fn text(&self, message: &Message) -> String {
        self.wire.common.options.text(message)
    }

    /// An id that the API takes, once in the conversation: gadgets may use one again in a later reply.
    fn id(&mut self, id: &str) -> String {
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        };
        let id: String = id.chars().map(plain).collect();
        let mut sent = id.clone();
        while self.ids.contains_key(&sent) {
            let used = self.ids.entry(id.clone()).or_insert(1);
            *used += 1;
            sent = format!("{id}_{used}");
        }
        self.ids.insert(sent.clone(), 1);
        sent
    }

    fn last_of_user(&self) -> Option<(usize, usize)> {
        let turn = self
            .turns
            .iter()
            .rposition(|turn| turn.role == Role::User)?;
        Some((turn, self.turns[turn].parts.len().checked_sub(1)?))
    }
}

impl Turn {
    fn said(text: &str) -> Self {
        Self {
            role: Role::User,
            parts: text_part(text).into_iter().collect(),
            calls: HashMap::new(),
        }
    }
}

/// The API refuses texts that are blank.
fn text_part(text: &str) -> Option<Value> {
    let blank = text.trim().is_empty();
    (!blank).then(|| json!({"type": "text", "text": text}))
}

/// A medium in the API's form.
fn media_part(medium: &Media) -> Value {
    let kind = if medium.kind == MediaKind::Image {
        "image"
    } else {
        "document"
    };
    let mime = medium.mime_type.as_str();
    let source = match &medium.data {
        MediaData::Base64(data) => json!({"type": "base64", "media_type": mime, "data": data}),
        MediaData::Url(url) => json!({"type": "url", "url": url}),
    };
    json!({"type": kind, "source": source})
}
