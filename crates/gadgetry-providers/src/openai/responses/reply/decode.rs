//! From the answer of the Responses API to deltas.

use std::sync::Arc;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::message::ProviderData;
use gadgetry_proto::usage::Usage;
use serde_json::{Value, json};

use super::item::{Kind, Part, annotations, parts};
use super::items::Items;
use crate::error::ProviderError;
use crate::openai::responses::API;
use crate::openai::usage;
use crate::refusal::Refusal;
use crate::tools::ToolNames;
use crate::wire::{Decode, message_end, stop_reason};
use crate::{json, sse};

/// Reads one answer, streamed or whole.
///
/// - Items are known by `output_index`, or by `item_id` from servers that send no index.
/// - What arrives only with the end of a part, an item or the response is emitted there; what has come in pieces is not
///   repeated.
/// - A call ends with its item, if its arguments are whole JSON and its pieces agree with the repetition.
/// - `response.completed`, `incomplete` or `failed` ends the reply. A stream that ends without one was cut off.
///
/// ```
/// use gadgetry::Delta;
/// use gadgetry::provider::openai::responses;
/// use gadgetry::provider::{Decode, sse};
/// let mut decoder = responses::Decoder::new();
/// let mut deltas = Vec::new();
/// let data = r#"{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hello"}"#.to_owned();
/// decoder.frame(&sse::SseEvent { data, ..sse::SseEvent::default() }, &mut deltas);
/// assert_eq!(deltas[1], Delta::text("Hello"));
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    /// The model whose reasoning is kept for later requests.
    keeps: Option<Arc<str>>,
    has_begun: bool,
    items: Items,
    usage: Option<Usage>,
    /// The provider's words in place of the reply, or of its rest.
    refusal: Refusal,
    is_over: bool,
}

impl Decoder {
    /// A decoder at the start of an answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder for a model that was offered tools by these names.
    pub(crate) fn with_names(names: Arc<ToolNames>) -> Self {
        Self {
            items: Items::with_names(names),
            ..Self::default()
        }
    }

    /// Emits encrypted reasoning as [`Delta::ProviderData`], so that later requests to `model` can send it back.
    #[must_use]
    pub(crate) fn keeping<'m>(mut self, model: impl Into<Option<&'m str>>) -> Self {
        self.keeps = model.into().map(Into::into);
        self
    }

    fn begin(&mut self, response: &Value, out: &mut Vec<Delta>) {
        if !self.has_begun {
            self.has_begun = true;
            let model = response["model"].as_str().filter(|model| !model.is_empty());
            let model = model.map(|model| json::whole(model).into_owned());
            out.push(Delta::MessageStart { model });
        }
        if let Some(usage) = usage::of(response) {
            self.usage = Some(self.usage.unwrap_or_default().max(usage));
        }
    }

    /// An item has ended; `sent` repeats all of it.
    fn done(&mut self, at: usize, sent: &Value, out: &mut Vec<Delta>) {
        if self.items.all[at].is_over {
            return;
        }
        self.items.describe(at, sent, out);
        for (part, text) in parts(sent) {
            let whole = self.items.all[at].whole(part, text);
            self.emit(part, whole, out);
        }
        let item = &mut self.items.all[at];
        item.is_over = true;
        match &mut item.kind {
            // The token limit cut it: it stays open, and is not executed.
            Some(Kind::Call(_)) if sent["status"] == "incomplete" => {}
            Some(Kind::Call(call)) => call.end(&sent["arguments"], out),
            Some(Kind::Reasoning) => out.extend(self.kept(sent)),
            Some(Kind::Message | Kind::Other) | None => {}
        }
    }

    /// Encrypted reasoning, as the API wants it back.
    fn kept(&self, item: &Value) -> Option<Delta> {
        let model = self.keeps.as_ref()?;
        // Without storage at the provider an item without its content means nothing.
        let content = item["encrypted_content"].as_str();
        content.filter(|content| !content.is_empty())?;
        let mut data = item.clone();
        json::whole_value(&mut data);
        if let Value::Object(fields) = &mut data {
            fields.shift_remove("status");
        }
        Some(Delta::ProviderData(ProviderData {
            api: API.to_owned(),
            model: model.as_ref().to_owned(),
            data,
        }))
    }

    /// More of a part, or all of it.
    fn piece(&mut self, part: fn(u64) -> Part, body: &Value, field: &str, out: &mut Vec<Delta>) {
        let number = ["content_index", "summary_index"]
            .iter()
            .find_map(|name| body[*name].as_u64());
        let part = part(number.unwrap_or(0));
        let at = self.items.at(body, body["item_id"].as_str());
        let item = &mut self.items.all[at];
        if item.is_over {
            return;
        }
        item.kind.get_or_insert(match part {
            Part::Text(_) | Part::Refusal(_) => Kind::Message,
            Part::Summary(_) | Part::Thought(_) => Kind::Reasoning,
        });
        let text = body[field].as_str().unwrap_or_default();
        let text = if field == "delta" {
            item.write(part, text)
        } else {
            item.whole(part, text)
        };
        self.emit(part, text, out);
    }

    fn emit(&mut self, part: Part, text: Option<String>, out: &mut Vec<Delta>) {
        let Some(delta) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        let metadata = None;
        match part {
            // A refusal ends the text: nothing after it is a part of the reply.
            Part::Text(_) if self.refusal.has_begun() => {}
            Part::Text(_) => out.push(Delta::Text { delta, metadata }),
            Part::Summary(_) | Part::Thought(_) => out.push(Delta::Reasoning { delta, metadata }),
            Part::Refusal(_) => self.refusal.push(&delta),
        }
    }

    fn arguments(&mut self, body: &Value, field: &str, out: &mut Vec<Delta>) {
        let at = self.items.at(body, body["item_id"].as_str());
        let item = &mut self.items.all[at];
        if item.is_over {
            return;
        }
        if let Some(call) = item.call() {
            let value = &body[field];
            if field == "arguments" {
                call.end(value, out);
            } else if let Some(piece) = value.as_str() {
                call.write(piece, out);
            }
        }
    }

    /// The response has ended; `response` repeats all of it.
    fn complete(&mut self, response: &Value, event: &str, out: &mut Vec<Delta>) {
        self.begin(response, out);
        let failed = response["error"].is_object() || response["error"].is_string();
        if event == "response.failed" || response["status"] == "failed" || failed {
            return self.fail(failure(response), out);
        }
        let output = response["output"].as_array().into_iter().flatten();
        for (item, number) in output.zip(0..) {
            if let Some(at) = self.items.in_repetition(item, number) {
                self.done(at, item, out);
            }
        }
        let reason = reason(response, event);
        self.finish(reason, out);
    }

    fn finish(&mut self, reason: StopReason, out: &mut Vec<Delta>) {
        self.is_over = true;
        let reason = if self.refusal.has_begun() {
            reason.then(StopReason::ContentFilter)
        } else {
            reason
        };
        let mut has_call = false;
        for at in 0..self.items.all.len() {
            let rest = self.items.all[at].rest();
            match &mut self.items.all[at].kind {
                Some(Kind::Call(call)) => {
                    if reason.is_clean() {
                        call.finish(out);
                    }
                    has_call |= call.is_call();
                }
                Some(Kind::Message) if !self.refusal.has_begun() && !rest.is_empty() => {
                    out.push(Delta::text(rest));
                }
                Some(Kind::Message | Kind::Reasoning | Kind::Other) | None => {}
            }
        }
        out.extend(self.refusal.report());
        out.push(message_end(reason, has_call, self.usage));
    }

    fn fail(&mut self, error: ProviderError, out: &mut Vec<Delta>) {
        self.is_over = true;
        out.extend(self.usage.take().map(|usage| Delta::Usage { usage }));
        out.push(error.into());
    }

    /// Takes a frame of a known type. `false` for all others.
    fn known(&mut self, kind: &str, body: &mut Value, out: &mut Vec<Delta>) -> bool {
        if kind.starts_with("response.") {
            self.begin(&body["response"], out);
        }
        match kind {
            "response.output_item.added" => self.items.added(body, out),
            "response.output_item.done" => {
                let at = self.items.at(body, body["item"]["id"].as_str());
                self.done(at, &body["item"], out);
                return !matches!(self.items.all[at].kind, Some(Kind::Other));
            }
            "response.output_text.delta" => self.piece(Part::Text, body, "delta", out),
            "response.output_text.done" => self.piece(Part::Text, body, "text", out),
            "response.refusal.delta" => self.piece(Part::Refusal, body, "delta", out),
            "response.refusal.done" => self.piece(Part::Refusal, body, "refusal", out),
            "response.reasoning_summary_text.delta" => {
                self.piece(Part::Summary, body, "delta", out);
            }
            "response.reasoning_summary_text.done" => self.piece(Part::Summary, body, "text", out),
            "response.reasoning_text.delta" => self.piece(Part::Thought, body, "delta", out),
            "response.reasoning_text.done" => self.piece(Part::Thought, body, "text", out),
            "response.function_call_arguments.delta" => self.arguments(body, "delta", out),
            "response.function_call_arguments.done" => self.arguments(body, "arguments", out),
            "response.output_text.annotation.added" => {
                out.extend(annotations(vec![body["annotation"].clone()]));
            }
            "response.created"
            | "response.in_progress"
            | "response.queued"
            | "response.content_part.added"
            | "response.content_part.done"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_part.done"
            | "keepalive" => {}
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => self.complete(&body["response"].take(), kind, out),
            _ => return false,
        }
        true
    }
}

impl Decode for Decoder {
    fn frame(&mut self, frame: &sse::SseEvent, out: &mut Vec<Delta>) -> bool {
        let data = frame.data.trim();
        if self.is_over || data.is_empty() {
            return true;
        }
        if data == "[DONE]" {
            self.finish(StopReason::Unspecified, out);
            return true;
        }
        let mut body = match json::parse_reply(data) {
            Ok(body) => body,
            Err(error) => {
                // What it said is lost, and a reply with a hole must not be acted upon.
                self.fail(ProviderError::unreadable(data, &error), out);
                return true;
            }
        };
        if !body.is_object() {
            return false;
        }
        let kind = body["type"].as_str().or(frame.event.as_deref());
        let kind = kind.unwrap_or_default().to_owned();
        if kind == "error" || (!kind.starts_with("response.") && !body["error"].is_null()) {
            json::whole_value(&mut body);
            self.fail(ProviderError::reported(&body), out);
            return true;
        }
        self.known(&kind, &mut body, out)
    }

    fn reply(&mut self, mut body: Value, out: &mut Vec<Delta>) {
        json::whole_value(&mut body);
        if body["output"].is_array() || body["status"].is_string() && body["id"].is_string() {
            self.complete(&body, "", out);
        }
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        // No frame before the last one says that a reply is complete.
        if !self.is_over {
            out.extend(self.usage.take().map(|usage| Delta::Usage { usage }));
        }
    }
}

/// Returns the stop reason of a response.
fn reason(response: &Value, event: &str) -> StopReason {
    let details = &response["incomplete_details"]["reason"];
    if let Some(reason) = stop_reason(details) {
        // A word that means a whole reply elsewhere does not make an incomplete one whole.
        return if reason.is_clean() {
            StopReason::Unspecified
        } else {
            reason
        };
    }
    let status = response["status"].as_str();
    match status.or_else(|| event.strip_prefix("response.")) {
        Some("completed") if event != "response.incomplete" => StopReason::Stop,
        Some("completed" | "incomplete") | None => StopReason::Unspecified,
        Some(other) => StopReason::Other(json::whole(other).into_owned()),
    }
}

fn failure(response: &Value) -> ProviderError {
    let error = &response["error"];
    let mut error = if error.is_object() || error.is_string() {
        json!({"error": error})
    } else {
        Value::Null
    };
    json::whole_value(&mut error);
    ProviderError::reported(&error)
}
