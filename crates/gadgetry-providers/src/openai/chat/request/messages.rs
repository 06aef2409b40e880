//! A conversation as the messages of Chat Completions.

use std::collections::HashSet;

use gadgetry_proto::message::{Content, Media, MediaData, MediaKind, Message, Request, Role};
use serde_json::{Map, Value, json};

use crate::conversation::{Piece, answered, native_call, part_of, pieces, url_of};
use crate::openai::chat::ChatCompletions;
use crate::openai::chat::reply::kept;
use crate::wire::Wire as _;

/// The messages; those of the system are merged and come first.
///
/// A message without any text is left out, because many servers refuse it.
pub(super) fn of(wire: &ChatCompletions, request: &Request) -> Value {
    let mut writer = Writer {
        wire,
        system: Vec::new(),
        turns: Vec::new(),
    };
    let messages: Vec<&Message> = request.all_messages().collect();
    for (at, message) in messages.iter().enumerate() {
        match message.role {
            Role::System => writer
                .system
                .extend(writer.parts(&message.content, message)),
            Role::Assistant if !wire.common.is_native() => {
                // The model reads its reply as it wrote it.
                let text = wire.common.options.text(message);
                writer.say("assistant", vec![Part::Text(text)]);
            }
            Role::Assistant => writer.assistant(message, messages.get(at + 1).copied()),
            // The user, and any role that this API does not have: the author with the least weight.
            Role::User | _ => writer.user(message),
        }
    }
    writer.finish()
}

struct Writer<'w> {
    wire: &'w ChatCompletions,
    system: Vec<Part>,
    turns: Vec<Turn>,
}

/// One message of the wire.
enum Turn {
    Said {
        role: &'static str,
        parts: Vec<Part>,
        calls: Vec<Value>,
        /// Fields that the server wants back with the message.
        kept: Map<String, Value>,
    },
    Result {
        id: String,
        text: String,
    },
}

/// A part of a message.
enum Part {
    Text(String),
    Media(Value),
}

impl Writer<'_> {
    fn say(&mut self, role: &'static str, parts: Vec<Part>) {
        self.say_and_call(role, parts, Vec::new(), Map::new());
    }

    fn say_and_call(
        &mut self,
        role: &'static str,
        mut parts: Vec<Part>,
        calls: Vec<Value>,
        kept: Map<String, Value>,
    ) {
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        if parts.is_empty() && calls.is_empty() {
            return;
        }
        if let Some(Turn::Said {
            role: before,
            parts: said,
            calls: called,
            kept: fields,
        }) = self.turns.last_mut()
            && *before == role
            && called.is_empty()
            && self.wire.own.merges
            && (fields.is_empty() || kept.is_empty())
        {
            said.extend(parts);
            *called = calls;
            fields.extend(kept);
            return;
        }
        self.turns.push(Turn::Said {
            role,
            parts,
            calls,
            kept,
        });
    }

    /// A reply. Calls that the next message answers go through the provider's interface; others stay text, because
    /// servers refuse calls without results.
    fn assistant(&mut self, message: &Message, next: Option<&Message>) {
        let common = &self.wire.common;
        let mut open: HashSet<&str> = next.map(answered).into_iter().flatten().collect();
        let kept = kept::of(message, &common.model);
        let mut calls = Vec::new();
        let mut said = Vec::new();
        for part in &message.content {
            let Some((id, name, input)) = native_call(part).filter(|(id, ..)| open.remove(id))
            else {
                said.push(part.clone());
                continue;
            };
            let mut call = json!({
                "id": id,
                "type": "function",
                "function": {"name": common.tool_names.sent(name), "arguments": input.to_string()},
            });
            let own = kept.and_then(|(_, of_calls)| of_calls.get(id)?.as_object());
            for (field, value) in own.into_iter().flatten() {
                call[field] = value.clone();
            }
            calls.push(call);
        }
        let text = if calls.is_empty() {
            common.options.text(message)
        } else {
            common.options.text(&part_of(message, said))
        };
        let fields = kept.map(|(fields, _)| fields.clone()).unwrap_or_default();
        self.say_and_call("assistant", vec![Part::Text(text)], calls, fields);
    }

    /// A message of the user. Results become messages of their own where the reply before has the calls.
    fn user(&mut self, message: &Message) {
        let mut called: HashSet<String> = match self.turns.last() {
            Some(Turn::Said { calls, .. }) => calls
                .iter()
                .filter_map(|call| call["id"].as_str().map(str::to_owned))
                .collect(),
            _ => HashSet::new(),
        };
        let mut rest = Vec::new();
        for part in &message.content {
            let Content::GadgetResult {
                invocation_id,
                text,
                media,
                ..
            } = part
            else {
                rest.push(part.clone());
                continue;
            };
            if !called.remove(invocation_id.as_str()) {
                rest.push(part.clone());
                continue;
            }
            let mut text = text.clone();
            for medium in media {
                text.push('\n');
                text.push_str(&medium.caption());
                // The API's results are text alone, so media follow in a message after all results.
                if self.wire.leaves_out(medium).is_none() {
                    rest.push(Content::Media(medium.clone()));
                }
            }
            self.turns.push(Turn::Result {
                id: invocation_id.as_str().to_owned(),
                text,
            });
        }
        let parts = self.parts(&rest, message);
        self.say("user", parts);
    }

    fn parts(&self, content: &[Content], of: &Message) -> Vec<Part> {
        let takes = |medium: &Media| self.wire.leaves_out(medium).is_none();
        let pieces = pieces(&self.wire.common.options, content, of, takes);
        let parts = pieces.into_iter().map(|piece| match piece {
            Piece::Text(text) => Part::Text(text),
            Piece::Media(it) => medium(it),
        });
        parts.collect()
    }

    fn finish(self) -> Value {
        let mut messages = Vec::new();
        if !self.system.is_empty() {
            messages.push(json!({"role": "system", "content": content(self.system)}));
        }
        for turn in self.turns {
            messages.push(match turn {
                Turn::Result { id, text } => {
                    json!({"role": "tool", "tool_call_id": id, "content": text})
                }
                Turn::Said {
                    role,
                    parts,
                    calls,
                    kept,
                } => {
                    let said = if parts.is_empty() {
                        Value::Null
                    } else {
                        content(parts)
                    };
                    let mut message = json!({"role": role, "content": said});
                    if !calls.is_empty() {
                        message["tool_calls"] = calls.into();
                    }
                    for (field, value) in kept {
                        message[field] = value;
                    }
                    message
                }
            });
        }
        Value::Array(messages)
    }
}

/// An image or audio in the API's form.
fn medium(medium: &Media) -> Part {
    let mime = &medium.mime_type;
    Part::Media(match (&medium.data, medium.kind) {
        (MediaData::Base64(data), MediaKind::Audio) => {
            let format = match mime.as_str() {
                "audio/mpeg" => "mp3",
                "audio/wave" | "audio/x-wav" | "audio/vnd.wave" => "wav",
                other => other.rsplit('/').next().unwrap_or(other),
            };
            json!({"type": "input_audio", "input_audio": {"data": data, "format": format}})
        }
        _ => json!({"type": "image_url", "image_url": {"url": url_of(medium)}}),
    })
}

/// Parts as `content`: a string if they are text alone, which every server understands. A blank line separates texts.
fn content(parts: Vec<Part>) -> Value {
    let mut texts: Vec<Part> = Vec::new();
    for part in parts {
        match (texts.last_mut(), part) {
            (Some(Part::Text(before)), Part::Text(text)) => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            (_, part) => texts.push(part),
        }
    }
    if let [Part::Text(text)] = texts.as_mut_slice() {
        return Value::String(std::mem::take(text));
    }
    let parts = texts.into_iter().map(|part| match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Media(medium) => medium,
    });
    parts.collect()
}
