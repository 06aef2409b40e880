//! A conversation as the messages of Chat Completions.

use std::collections::HashSet;

use gadgetry_proto::call::Parameters;
use gadgetry_proto::convo::TextForm;
use gadgetry_proto::message::{Content, Media, MediaData, MediaKind, Message, Request, Role};
use serde_json::{Map, Value, json};

use super::{ChatCompletions, kept};
use crate::provider::arguments;

/// The messages, what is for the system first and as one.
///
/// A message without any text is left out: many servers refuse it.
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
            Role::Assistant if wire.tools.is_empty() => {
                // A reply is sent as it was written.
                let text = writer.text(message);
                writer.say("assistant", vec![Part::Text(text)]);
            }
            Role::Assistant => writer.assistant(message, messages.get(at + 1).copied()),
            Role::User => writer.user(message),
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
        /// What the server also wants back.
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
            && self.wire.merges
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

    /// A reply whose calls go through the provider's interface, if the next message answers them.
    fn assistant(&mut self, message: &Message, next: Option<&Message>) {
        let mut answered: HashSet<&str> = next.map(results).into_iter().flatten().collect();
        let kept = kept::of(message, &self.wire.model);
        let mut calls = Vec::new();
        let mut said = Vec::new();
        for part in &message.content {
            match native(part).filter(|(id, ..)| answered.remove(id)) {
                Some((id, name, input)) => {
                    let mut call = json!({
                        "id": id,
                        "type": "function",
                        "function": {"name": self.wire.tool_names.sent(name), "arguments": input},
                    });
                    let own = kept.and_then(|(_, of_calls)| of_calls.get(id)?.as_object());
                    for (field, value) in own.into_iter().flatten() {
                        call[field] = value.clone();
                    }
                    calls.push(call);
                }
                None => said.push(part.clone()),
            }
        }
        let text = if calls.is_empty() {
            self.text(message)
        } else {
            self.text(&part_of(message, said))
        };
        let fields = kept.map(|(fields, _)| fields.clone()).unwrap_or_default();
        self.say_and_call("assistant", vec![Part::Text(text)], calls, fields);
    }

    /// What the user says, and what gadgets gave: as messages of their own where the reply before has called them so.
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
                // A result is text; its media follow after all results.
                if self.sees(medium) {
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

    /// Content as text, except images and audio that the model reads.
    fn parts(&self, content: &[Content], of: &Message) -> Vec<Part> {
        let is_seen = |part: &Content| self.seen(part).next().is_some();
        if content.len() == of.content.len() && !content.iter().any(is_seen) {
            return vec![Part::Text(self.text(of))];
        }
        let mut parts = Vec::new();
        let mut run = Vec::new();
        for part in content {
            // What is seen itself needs no text; what belongs to a result is named in it.
            if !is_seen(part) || !matches!(part, Content::Media(_)) {
                run.push(part.clone());
            }
            if is_seen(part) {
                self.flush(&mut run, of, &mut parts);
                parts.extend(self.seen(part).map(medium));
            }
        }
        self.flush(&mut run, of, &mut parts);
        parts
    }

    /// What a part of a message has for eyes and ears.
    fn seen<'m>(&self, part: &'m Content) -> impl Iterator<Item = &'m Media> {
        let media = if let Content::Media(medium) = part {
            std::slice::from_ref(medium)
        } else if let Content::GadgetResult { media, .. } = part {
            media.as_slice()
        } else {
            &[]
        };
        media.iter().filter(|medium| self.sees(medium))
    }

    /// Whether the model can take a medium, and the provider its form.
    fn sees(&self, medium: &Media) -> bool {
        self.wire.leaves_out(medium).is_none()
    }

    fn flush(&self, run: &mut Vec<Content>, of: &Message, parts: &mut Vec<Part>) {
        if !run.is_empty() {
            let text = self.text(&part_of(of, std::mem::take(run)));
            parts.push(Part::Text(text));
        }
    }

    fn text(&self, message: &Message) -> String {
        let form = TextForm {
            markers: &self.wire.markers,
            anchoring: self.wire.anchoring,
            xml_names: &self.wire.xml_names,
        };
        form.of(message).into_owned()
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

/// A picture or a sound in the provider's form.
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
        (MediaData::Base64(data), _) => {
            let url = format!("data:{mime};base64,{data}");
            json!({"type": "image_url", "image_url": {"url": url}})
        }
        (MediaData::Url(url), _) => json!({"type": "image_url", "image_url": {"url": url}}),
    })
}

/// Text alone as a string, which every server understands; adjacent texts with a blank line between them.
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

/// A message with a part of the content of another.
fn part_of(message: &Message, content: Vec<Content>) -> Message {
    Message {
        role: message.role,
        content,
        raw: None,
    }
}

/// Id, name and JSON text of a call that the provider's interface can carry.
fn native(part: &Content) -> Option<(&str, &str, String)> {
    if let Content::ToolUse {
        tool_use_id,
        name,
        input,
    } = part
    {
        return Some((tool_use_id, name, arguments(input)));
    }
    if let Content::GadgetCall(call) = part
        && let Parameters::Parsed(input) = &call.parameters
    {
        let id = call.invocation_id.as_str();
        return Some((id, &call.gadget_name, arguments(input)));
    }
    None
}

/// The JSON text of an object, always: see [`arguments::sent`].
fn arguments(input: &Value) -> String {
    arguments::sent(input).to_string()
}

/// The calls that a message has results of.
fn results(message: &Message) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|part| {
        if let Content::GadgetResult { invocation_id, .. } = part {
            Some(invocation_id.as_str())
        } else {
            None
        }
    })
}
