//! A conversation as the input items of the Responses API.

use std::collections::HashSet;

use gadgetry_proto::message::{Content, Media, MediaData, MediaKind, Message, Request, Role};
use serde_json::{Value, json};

use crate::conversation::{Piece, answered, native_call, part_of, pieces, provider_data, url_of};
use crate::openai::responses::{API, Responses};
use crate::wire::Wire as _;

/// The instructions, which are the system messages at the start, and the items of everything after them.
pub(super) fn of(wire: &Responses, request: &Request) -> (Option<String>, Value) {
    let mut writer = Writer {
        wire,
        instructions: Vec::new(),
        items: Vec::new(),
        called: HashSet::new(),
    };
    let messages: Vec<&Message> = request.all_messages().collect();
    for (at, message) in messages.iter().enumerate() {
        writer.message(message, messages.get(at + 1).copied());
    }
    let instructions = writer.instructions;
    let instructions = (!instructions.is_empty()).then(|| instructions.join("\n\n"));
    (instructions, Value::Array(writer.items))
}

struct Writer<'w> {
    wire: &'w Responses,
    instructions: Vec<String>,
    items: Vec<Value>,
    /// Ids of the calls in the last reply that are open.
    called: HashSet<String>,
}

impl Writer<'_> {
    fn message(&mut self, message: &Message, next: Option<&Message>) {
        match message.role {
            Role::System if self.items.is_empty() => {
                let text = self.wire.common.options.text(message);
                if !text.is_empty() {
                    self.instructions.push(text);
                }
            }
            // Later instructions stay in position, so that the prefix that the cache knows does not change.
            Role::System => {
                let content = self.parts(&message.content, message);
                self.say("developer", &content);
            }
            Role::Assistant if !self.wire.common.is_native() => {
                let text = self.wire.common.options.text(message);
                self.reply_text(&text);
            }
            Role::Assistant => self.assistant(message, next),
            // The user, and any role that this API does not have: the author with the least weight.
            Role::User | _ => self.user(message),
        }
    }

    /// A reply. Calls that the next message answers become items; others stay text, because the API refuses calls
    /// without results.
    fn assistant(&mut self, message: &Message, next: Option<&Message>) {
        let common = &self.wire.common;
        let mut open: HashSet<&str> = next.map(answered).into_iter().flatten().collect();
        let first = self.items.len();
        let mut calls = HashSet::new();
        let mut said = Vec::new();
        for part in &message.content {
            if let Some(kept) = self.kept(part) {
                self.flush(&mut said, message);
                self.items.push(kept.clone());
            } else if let Some((id, name, input)) =
                native_call(part).filter(|(id, ..)| open.remove(id))
            {
                self.flush(&mut said, message);
                self.items.push(json!({
                    "type": "function_call",
                    "call_id": id,
                    "name": common.tool_names.sent(name),
                    "arguments": input.to_string(),
                }));
                calls.insert(id.to_owned());
            } else {
                said.push(part.clone());
            }
        }
        if calls.is_empty() {
            // Without calls the reply is the text that the model wrote, blocks and tags included.
            let is_text = |item: &Value| item["type"] == "message";
            let mut own = self.items.split_off(first);
            own.retain(|item| !is_text(item));
            self.items.append(&mut own);
            self.reply_text(&common.options.text(message));
        } else {
            self.flush(&mut said, message);
        }
        self.drop_last_reasoning();
        self.called = calls;
    }

    /// The API refuses reasoning that no other item of the reply follows.
    fn drop_last_reasoning(&mut self) {
        let is_reasoning = |item: &Value| item["type"] == "reasoning";
        while self.items.last().is_some_and(is_reasoning) {
            self.items.pop();
        }
    }

    /// The reasoning in a part, if this API and this model gave it.
    fn kept<'m>(&self, part: &'m Content) -> Option<&'m Value> {
        provider_data(part, API, &self.wire.common.model)
    }

    fn flush(&mut self, said: &mut Vec<Content>, of: &Message) {
        if !said.is_empty() {
            let part = part_of(of, std::mem::take(said));
            let text = self.wire.common.options.text(&part);
            self.reply_text(&text);
        }
    }

    fn reply_text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            let content = json!([{"type": "output_text", "text": text}]);
            self.items
                .push(json!({"type": "message", "role": "assistant", "content": content}));
        }
    }

    /// A message of the user. Results become items where the reply before has the calls.
    fn user(&mut self, message: &Message) {
        let mut called = std::mem::take(&mut self.called);
        let mut rest = Vec::new();
        for part in &message.content {
            if let Content::GadgetResult {
                invocation_id,
                text,
                media,
                ..
            } = part
                && called.remove(invocation_id.as_str())
            {
                let takes = |medium: &&Media| self.wire.leaves_out(medium).is_none();
                let mut sent: Vec<Value> = media.iter().filter(takes).map(media_part).collect();
                // Text alone is a string, because only OpenAI itself takes media in results.
                let output = if sent.is_empty() {
                    let captions = media.iter().map(Media::caption);
                    let lines = std::iter::once(text.clone()).chain(captions);
                    Value::from(lines.collect::<Vec<_>>().join("\n"))
                } else {
                    sent.insert(0, text_part(text));
                    Value::from(sent)
                };
                self.items.push(json!({
                    "type": "function_call_output",
                    "call_id": invocation_id.as_str(),
                    "output": output,
                }));
            } else {
                rest.push(part.clone());
            }
        }
        let content = self.parts(&rest, message);
        self.say("user", &content);
    }

    fn say(&mut self, role: &str, content: &[Value]) {
        if !content.is_empty() {
            self.items
                .push(json!({"type": "message", "role": role, "content": content}));
        }
    }

    fn parts(&self, content: &[Content], of: &Message) -> Vec<Value> {
        let takes = |medium: &Media| self.wire.leaves_out(medium).is_none();
        let pieces = pieces(&self.wire.common.options, content, of, takes);
        let parts = pieces.into_iter().map(|piece| match piece {
            Piece::Text(text) => text_part(&text),
            Piece::Media(medium) => media_part(medium),
        });
        parts.collect()
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "input_text", "text": text})
}

/// A medium in the API's form.
fn media_part(medium: &Media) -> Value {
    let url = url_of(medium);
    match (medium.kind, &medium.data) {
        (MediaKind::Image, _) => json!({"type": "input_image", "image_url": url}),
        (_, MediaData::Url(_)) => json!({"type": "input_file", "file_url": url}),
        (_, MediaData::Base64(_)) => {
            let name = medium.name.as_deref().unwrap_or("file.pdf");
            json!({"type": "input_file", "filename": name, "file_data": url})
        }
    }
}
