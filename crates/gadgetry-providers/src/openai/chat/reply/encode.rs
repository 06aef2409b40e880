//! From deltas to the answer of Chat Completions.

use gadgetry_proto::delta::{Delta, StopReason};
use serde_json::{Map, Value, json};

use crate::collected::{Collected, Part, Step};
use crate::json;
use crate::openai::usage;
use crate::sse;
use crate::tools::{ToolForms, text_of};
use crate::wire::Encode;

/// End of a chunk, after its text.
const TEXT_TAIL: &str = "},\"finish_reason\":null}]}";

/// Writes a reply as a server of the API sends it.
///
/// Decoding what was written gives the deltas again, if they are in the form that the [`Decoder`](super::Decoder) gives.
/// Otherwise the API has no form for:
///
/// | not expressible | becomes |
/// |---|---|
/// | a stop sequence as the reason to stop | `stop` |
/// | citations, language and extensions of texts | left out |
/// | tokens that were written to a cache for an hour | tokens written to a cache |
/// | the time to wait after an error | left out; it is a header |
/// | blocks, raw frames, provider data, diagnostics other than refusals | left out |
///
/// ```
/// use gadgetry::Delta;
/// use gadgetry::provider::Encode as _;
/// use gadgetry::provider::openai::chat;
/// let mut encoder = chat::Encoder::new("chatcmpl-1", 0);
/// let mut frames = Vec::new();
/// encoder.delta(&Delta::text("Hello"), &mut frames);
/// assert!(frames[0].data.contains(r#""delta":{"content":"Hello"}"#));
/// ```
#[derive(Debug)]
pub struct Encoder {
    id: String,
    created: u64,
    reply: Collected,
    forms: ToolForms,
    /// A chunk of text up to the text, once there was one.
    text_head: String,
}

impl Encoder {
    /// An encoder at the start of a reply. `created` is in seconds since 1970.
    pub fn new(id: impl Into<String>, created: u64) -> Self {
        Self {
            id: id.into(),
            created,
            reply: Collected::default(),
            forms: ToolForms::default(),
            text_head: String::new(),
        }
    }

    /// Sets the tools whose calls have another form than that of a function.
    #[must_use]
    pub fn tool_forms(mut self, forms: ToolForms) -> Self {
        self.forms = forms;
        self
    }

    /// Keeps no text, so that memory does not grow with the reply. The [document](Encode::document) then lacks it.
    #[must_use]
    pub fn only_frames(mut self) -> Self {
        self.reply.drops_text = true;
        self
    }

    fn frame(&self, choices: &Value, usage: Option<Value>) -> sse::SseEvent {
        let mut body = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.reply.model,
            "choices": choices,
        });
        if let Some(usage) = usage {
            body["usage"] = usage;
        }
        sse::SseEvent::data(body.to_string())
    }

    fn chunk(&self, delta: &Value) -> sse::SseEvent {
        self.frame(
            &json!([{"index": 0, "delta": delta, "finish_reason": null}]),
            None,
        )
    }

    /// The same chunk as for any other text, without a tree of JSON.
    fn text_chunk(&mut self, text: &str) -> sse::SseEvent {
        if self.text_head.is_empty() {
            let whole = self.chunk(&json!({"content": ""})).data;
            let end = whole.len() - TEXT_TAIL.len() - 2;
            whole[..end].clone_into(&mut self.text_head);
        }
        let mut data =
            String::with_capacity(self.text_head.len() + text.len() + TEXT_TAIL.len() + 8);
        data.push_str(&self.text_head);
        json::push_string(text, &mut data);
        data.push_str(TEXT_TAIL);
        sse::SseEvent::data(data)
    }

    /// The number of a call among the calls, which clients use as an index.
    fn index(&self, part: usize) -> usize {
        let before = self.reply.parts[..part].iter();
        before
            .filter(|part| matches!(part, Part::Call { .. }))
            .count()
    }

    fn begins(&self, part: usize) -> Option<sse::SseEvent> {
        let Part::Call { id, name, .. } = &self.reply.parts[part] else {
            return None;
        };
        let mut call = self.call(id, name, "");
        call["index"] = self.index(part).into();
        Some(self.chunk(&json!({"tool_calls": [call]})))
    }

    /// A call with its arguments, or with the text of a tool that takes text.
    fn call(&self, id: &str, name: &str, arguments: &str) -> Value {
        if self.forms.is_text(name) {
            let text = text_of(arguments);
            return json!({"id": id, "type": "custom", "custom": {"name": name, "input": text}});
        }
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    }

    fn grows(&self, part: usize, delta: &str) -> Option<sse::SseEvent> {
        Some(self.chunk(&match &self.reply.parts[part] {
            Part::Text(_) => json!({"content": delta}),
            Part::Reasoning(_) => json!({"reasoning_content": delta}),
            Part::Refusal(_) => json!({"refusal": delta}),
            // Text within JSON is sent when it is whole.
            Part::Call { name, .. } if self.forms.is_text(name) => return None,
            // Id, type and name are sent once: clients join repetitions.
            Part::Call { .. } => json!({"tool_calls": [
                {"index": self.index(part), "function": {"arguments": delta}},
            ]}),
        }))
    }

    /// The text of a call that is complete.
    fn ends(&self, part: usize) -> Option<sse::SseEvent> {
        let Part::Call { name, json, .. } = &self.reply.parts[part] else {
            return None;
        };
        let call = json!({"index": self.index(part), "custom": {"input": text_of(json)}});
        let is_text = self.forms.is_text(name);
        is_text.then(|| self.chunk(&json!({"tool_calls": [call]})))
    }
}

impl Encode for Encoder {
    fn delta(&mut self, delta: &Delta, out: &mut Vec<sse::SseEvent>) {
        if let Some(text) = self.reply.more_text(delta) {
            out.push(self.text_chunk(text));
            return;
        }
        for step in self.reply.add(delta) {
            match step {
                Step::Start => out.push(self.chunk(&json!({"role": "assistant", "content": ""}))),
                Step::Begins(part) => out.extend(self.begins(part)),
                Step::Grows(part, delta) => out.extend(self.grows(part, &delta)),
                Step::Ends(part) => out.extend(self.ends(part)),
                Step::About(metadata) => {
                    if !metadata.annotations.is_empty() {
                        out.push(self.chunk(&json!({"annotations": metadata.annotations})));
                    }
                }
                Step::Usage(counts) => {
                    out.push(self.frame(&json!([]), Some(usage::chat(&counts))));
                }
                Step::Finish(reason, counts) => {
                    if let Some(word) = finish_reason(reason) {
                        let choice = json!([{"index": 0, "delta": {}, "finish_reason": word}]);
                        out.push(self.frame(&choice, None));
                    }
                    let counts = counts.map(|counts| usage::chat(&counts));
                    out.extend(counts.map(|counts| self.frame(&json!([]), Some(counts))));
                    out.push(sse::SseEvent::data("[DONE]"));
                }
                Step::Fail { message, code } => {
                    let error =
                        json!({"message": message, "type": code, "param": null, "code": code});
                    out.push(sse::SseEvent::data(json!({"error": error}).to_string()));
                }
            }
        }
    }

    fn document(&self) -> Value {
        let mut message = Map::new();
        let mut add = |field: &str, more: &str| {
            let text = message.entry(field).or_insert_with(|| "".into());
            if let Value::String(text) = text {
                text.push_str(more);
            }
        };
        let mut calls = Vec::new();
        for part in &self.reply.parts {
            match part {
                Part::Text(text) => add("content", text),
                Part::Reasoning(text) => add("reasoning_content", text),
                Part::Refusal(text) => add("refusal", text),
                Part::Call { id, name, json, .. } => calls.push(self.call(id, name, json)),
            }
        }
        message.entry("content").or_insert(Value::Null);
        message.insert("role".to_owned(), "assistant".into());
        if !calls.is_empty() {
            message.insert("tool_calls".to_owned(), calls.into());
        }
        let reason = self.reply.end.as_ref().and_then(finish_reason);
        let mut body = json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.reply.model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        });
        if let Some(counts) = &self.reply.usage {
            body["usage"] = usage::chat(counts);
        }
        body
    }
}

fn finish_reason(reason: &StopReason) -> Option<&'static str> {
    Some(match reason {
        StopReason::Stop | StopReason::StopSequence | StopReason::NextTurn => "stop",
        StopReason::ToolUse => "tool_calls",
        // Clients check this word against those of the API, none of which says that something else cut the reply.
        StopReason::MaxTokens | StopReason::Error | StopReason::Other(_) => "length",
        StopReason::ContentFilter => "content_filter",
        StopReason::Unspecified | _ => return None,
    })
}
