//! From deltas to the answer of the Responses API.

use std::collections::BTreeMap;

use gadgetry_proto::delta::{ContentMetadata, Delta, StopReason};
use serde_json::{Value, json};

use crate::collected::{Collected, Part, Step};
use crate::openai::usage;
use crate::sse;
use crate::tools::{ToolForms, text_of};
use crate::wire::Encode;

/// Writes a reply as a server of the API sends it: each part is an output item.
///
/// Decoding what was written gives the deltas again, if they are in the form that the [`Decoder`](super::Decoder) gives.
/// Otherwise the API has no form for:
///
/// | not expressible | becomes |
/// |---|---|
/// | a stop sequence as the reason to stop | `completed` |
/// | a call as the reason to stop without a call, or the other way round | what the calls say |
/// | citations, language and extensions of texts | left out |
/// | tokens that were written to a cache for an hour | tokens written to a cache |
/// | the time to wait after an error | left out; it is a header |
/// | blocks, raw frames, provider data, diagnostics other than refusals | left out |
///
/// ```
/// use gadgetry::Delta;
/// use gadgetry::provider::Encode as _;
/// use gadgetry::provider::openai::responses;
/// let mut encoder = responses::Encoder::new("1", 0);
/// let mut frames = Vec::new();
/// encoder.delta(&Delta::text("Hello"), &mut frames);
/// assert_eq!(frames[2].event.as_deref(), Some("response.output_text.delta"));
/// ```
#[derive(Debug)]
pub struct Encoder {
    id: String,
    created: u64,
    reply: Collected,
    /// The message or reasoning that has not ended.
    open: Option<usize>,
    /// The annotations of each message, by its part.
    annotations: BTreeMap<usize, Vec<Value>>,
    sequence: u64,
    forms: ToolForms,
}

impl Encoder {
    /// An encoder at the start of a reply. `id` has no prefix; `created` is in seconds since 1970.
    pub fn new(id: impl Into<String>, created: u64) -> Self {
        Self {
            id: id.into(),
            created,
            reply: Collected::default(),
            open: None,
            annotations: BTreeMap::new(),
            sequence: 0,
            forms: ToolForms::default(),
        }
    }

    /// Sets the tools whose calls have another form than that of a function.
    #[must_use]
    pub fn tool_forms(mut self, forms: ToolForms) -> Self {
        self.forms = forms;
        self
    }

    fn frame(&mut self, kind: &str, fields: Value, out: &mut Vec<sse::SseEvent>) {
        let mut body = json!({"type": kind, "sequence_number": self.sequence});
        self.sequence += 1;
        if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
            body.extend(fields);
        }
        out.push(sse::SseEvent::named(kind, body.to_string()));
    }

    /// The id of an item, which must be the same in all frames about it.
    fn item_id(&self, part: usize) -> String {
        let prefix = match &self.reply.parts[part] {
            Part::Text(_) | Part::Refusal(_) => "msg",
            Part::Reasoning(_) => "rs",
            Part::Call { name, .. } if self.forms.is_text(name) => "ctc",
            Part::Call { .. } => "fc",
        };
        format!("{prefix}_{}_{part}", self.id)
    }

    /// An item as far as it has come.
    fn item(&self, part: usize, status: &str) -> Value {
        let id = self.item_id(part);
        match &self.reply.parts[part] {
            Part::Text(_) | Part::Refusal(_) => {
                let content = match (self.content(part), status) {
                    (_, "in_progress") => json!([]),
                    (content, _) => json!([content]),
                };
                json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": content})
            }
            Part::Reasoning(_) => {
                let summary = match (self.content(part), status) {
                    (_, "in_progress") => json!([]),
                    (content, _) => json!([content]),
                };
                json!({"id": id, "type": "reasoning", "summary": summary})
            }
            Part::Call {
                id: call_id,
                name,
                json,
                ..
            } => {
                let form = self.forms.of(name);
                let (kind, field, value) = if self.forms.is_text(name) {
                    ("custom_tool_call", "input", text_of(json))
                } else {
                    ("function_call", "arguments", json.clone())
                };
                let name = form.map_or(name, |form| &form.name);
                let mut item = json!({
                    "id": id,
                    "type": kind,
                    "status": status,
                    "call_id": call_id,
                    "name": name,
                    field: value,
                });
                if let Some(namespace) = form.and_then(|form| form.namespace.as_ref()) {
                    item["namespace"] = namespace.as_str().into();
                }
                item
            }
        }
    }

    /// The one part in a message or in reasoning.
    fn content(&self, part: usize) -> Value {
        match &self.reply.parts[part] {
            Part::Text(text) => {
                let annotations = self.annotations.get(&part).map_or(&[][..], Vec::as_slice);
                json!({"type": "output_text", "text": text, "annotations": annotations})
            }
            Part::Refusal(text) => json!({"type": "refusal", "refusal": text}),
            Part::Reasoning(text) => json!({"type": "summary_text", "text": text}),
            Part::Call { .. } => Value::Null,
        }
    }

    /// The names of the frames about a part: its beginning and end, and its text.
    fn names(&self, part: usize) -> (&'static str, &'static str, &'static str) {
        match &self.reply.parts[part] {
            Part::Text(_) => ("response.content_part", "response.output_text", "text"),
            Part::Refusal(_) => ("response.content_part", "response.refusal", "refusal"),
            Part::Reasoning(_) => (
                "response.reasoning_summary_part",
                "response.reasoning_summary_text",
                "text",
            ),
            Part::Call { name, .. } if self.forms.is_text(name) => {
                ("", "response.custom_tool_call_input", "input")
            }
            Part::Call { .. } => ("", "response.function_call_arguments", "arguments"),
        }
    }

    /// Fields that say which part of which item a frame is about.
    fn place(&self, part: usize) -> Value {
        let mut place = json!({"item_id": self.item_id(part), "output_index": part});
        match &self.reply.parts[part] {
            Part::Text(_) | Part::Refusal(_) => place["content_index"] = 0.into(),
            Part::Reasoning(_) => place["summary_index"] = 0.into(),
            Part::Call { .. } => {}
        }
        place
    }

    /// A frame about a part, with one more field.
    fn about(
        &mut self,
        kind: &str,
        part: usize,
        field: &str,
        value: Value,
        out: &mut Vec<sse::SseEvent>,
    ) {
        let mut fields = self.place(part);
        fields[field] = value;
        self.frame(kind, fields, out);
    }

    fn begins(&mut self, part: usize, out: &mut Vec<sse::SseEvent>) {
        self.close("completed", out);
        let mut item = self.item(part, "in_progress");
        for field in ["arguments", "input"] {
            if item[field].is_string() {
                item[field] = "".into();
            }
        }
        let added = json!({"output_index": part, "item": item});
        self.frame("response.output_item.added", added, out);
        let (of_part, _, field) = self.names(part);
        if of_part.is_empty() {
            return;
        }
        self.open = Some(part);
        let mut content = self.content(part);
        content[field] = "".into();
        self.about(&format!("{of_part}.added"), part, "part", content, out);
    }

    fn grows(&mut self, part: usize, delta: &str, out: &mut Vec<sse::SseEvent>) {
        if matches!(&self.reply.parts[part], Part::Call { name, .. } if self.forms.is_text(name)) {
            // Text within JSON is sent when it is whole.
            return;
        }
        let (_, of_text, _) = self.names(part);
        self.about(
            &format!("{of_text}.delta"),
            part,
            "delta",
            delta.into(),
            out,
        );
    }

    /// Ends the message or reasoning, if one is open.
    fn close(&mut self, status: &str, out: &mut Vec<sse::SseEvent>) {
        let Some(part) = self.open.take() else { return };
        let (of_part, of_text, field) = self.names(part);
        let content = self.content(part);
        let text = content[field].clone();
        self.about(&format!("{of_text}.done"), part, field, text, out);
        self.about(&format!("{of_part}.done"), part, "part", content, out);
        self.done(part, status, out);
    }

    fn done(&mut self, part: usize, status: &str, out: &mut Vec<sse::SseEvent>) {
        let done = json!({"output_index": part, "item": self.item(part, status)});
        self.frame("response.output_item.done", done, out);
    }

    fn ends(&mut self, part: usize, out: &mut Vec<sse::SseEvent>) {
        if let Part::Call { name, json, .. } = &self.reply.parts[part] {
            let is_text = self.forms.is_text(name);
            let value = Value::from(if is_text { text_of(json) } else { json.clone() });
            let (_, of_value, field) = self.names(part);
            if is_text {
                let delta = format!("{of_value}.delta");
                self.about(&delta, part, "delta", value.clone(), out);
            }
            self.about(&format!("{of_value}.done"), part, field, value, out);
        }
        self.done(part, "completed", out);
    }

    fn annotate(&mut self, metadata: &ContentMetadata, out: &mut Vec<sse::SseEvent>) {
        let Some(part) = self.open else { return };
        for annotation in &metadata.annotations {
            let mut fields = self.place(part);
            let before = self.annotations.entry(part).or_default();
            fields["annotation_index"] = before.len().into();
            fields["annotation"] = annotation.clone();
            before.push(annotation.clone());
            self.frame("response.output_text.annotation.added", fields, out);
        }
    }

    /// The response as far as it has come. What its last message says may be cut off, unless the response is complete.
    fn response(&self, status: &str, details: &Value, error: &Value) -> Value {
        let last = self.reply.parts.len().wrapping_sub(1);
        let item = |part| {
            let is_cut = match &self.reply.parts[part] {
                Part::Call { is_over, .. } => !is_over,
                Part::Text(_) | Part::Refusal(_) => part == last && is_cut(status),
                Part::Reasoning(_) => false,
            };
            self.item(part, if is_cut { "incomplete" } else { "completed" })
        };
        let output: Vec<Value> = (0..self.reply.parts.len()).map(item).collect();
        json!({
            "id": format!("resp_{}", self.id),
            "object": "response",
            "created_at": self.created,
            "status": status,
            "model": self.reply.model,
            "error": error,
            "incomplete_details": details,
            "output": output,
            "usage": self.reply.usage.as_ref().map(usage::responses),
            // Clients require these fields. They are about the request, which is not known here.
            "instructions": null,
            "metadata": {},
            "parallel_tool_calls": true,
            "temperature": null,
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
        })
    }

    fn finish(&mut self, reason: &StopReason, out: &mut Vec<sse::SseEvent>) {
        let (status, details) = verdict(Some(reason));
        self.close(
            if is_cut(status) {
                "incomplete"
            } else {
                "completed"
            },
            out,
        );
        for part in 0..self.reply.parts.len() {
            if matches!(&self.reply.parts[part], Part::Call { is_over: false, .. }) {
                self.done(part, "incomplete", out);
            }
        }
        let response = self.response(status, &details, &Value::Null);
        let kind = format!("response.{status}");
        self.frame(&kind, json!({"response": response}), out);
    }
}

impl Encode for Encoder {
    fn delta(&mut self, delta: &Delta, out: &mut Vec<sse::SseEvent>) {
        for step in self.reply.add(delta) {
            match step {
                Step::Start => {
                    let response = self.response("in_progress", &Value::Null, &Value::Null);
                    self.frame("response.created", json!({"response": response}), out);
                    self.frame("response.in_progress", json!({"response": response}), out);
                }
                Step::Begins(part) => self.begins(part, out),
                Step::Grows(part, delta) => self.grows(part, &delta, out),
                Step::Ends(part) => self.ends(part, out),
                Step::About(metadata) => self.annotate(metadata, out),
                // The counts are a part of the last frame, whichever it is.
                Step::Usage(_) => {}
                Step::Finish(reason, _) => self.finish(reason, out),
                Step::Fail { message, code } => {
                    self.close("incomplete", out);
                    let error = json!({"code": code, "message": message});
                    let response = self.response("failed", &Value::Null, &error);
                    self.frame("response.failed", json!({"response": response}), out);
                }
            }
        }
    }

    fn document(&self) -> Value {
        let (status, details) = verdict(self.reply.end.as_ref());
        self.response(status, &details, &Value::Null)
    }
}

/// Returns whether a response of this status may lack the end of its last message.
fn is_cut(status: &str) -> bool {
    matches!(status, "incomplete" | "failed")
}

/// The status of a response, and why it is incomplete.
fn verdict(reason: Option<&StopReason>) -> (&'static str, Value) {
    let word = match reason {
        Some(
            StopReason::Stop
            | StopReason::StopSequence
            | StopReason::ToolUse
            | StopReason::NextTurn,
        ) => {
            return ("completed", Value::Null);
        }
        // Clients check this word against those of the API, none of which says that something else cut the reply.
        Some(StopReason::MaxTokens | StopReason::Error | StopReason::Other(_)) => {
            "max_output_tokens"
        }
        Some(StopReason::ContentFilter) => "content_filter",
        _ => return ("incomplete", Value::Null),
    };
    ("incomplete", json!({"reason": word}))
}
