//! From deltas to the answer of the Messages API.

use gadgetry_proto::call::Digits;
use gadgetry_proto::delta::{ContentMetadata, Delta, StopReason};
use gadgetry_proto::json::read_value;
use serde_json::{Value, json};

use super::usage;
use crate::collected::{Collected, Part, Step};
use crate::sse;
use crate::wire::Encode;

/// Writes a reply as a server of the API sends it.
///
/// Decoding what was written gives the deltas again, if they are in the form that the [`Decoder`](super::Decoder) gives.
/// Otherwise the API has no form for:
///
/// | not expressible | becomes |
/// |---|---|
/// | the words of a refusal | text |
/// | annotations and language of texts | left out |
/// | a call that is open in a reply that ended well | a call that has ended |
/// | several calls whose pieces come in turns | one call after the other, once decoded |
/// | a call that was cut, in a document | left out: it would look like a call without input |
/// | what a reply cost | left out |
/// | the time to wait after an error | left out; it is a header |
/// | blocks, raw frames, provider data, diagnostics other than refusals | left out |
///
/// ```
/// use gadgetry::Delta;
/// use gadgetry::provider::{Encode as _, anthropic};
/// let mut encoder = anthropic::Encoder::new("msg_1");
/// let mut frames = Vec::new();
/// encoder.delta(&Delta::text("Hello"), &mut frames);
/// assert_eq!(frames[0].event.as_deref(), Some("content_block_start"));
/// ```
#[derive(Debug)]
pub struct Encoder {
    id: String,
    reply: Collected,
    /// The text or thinking block that has not ended.
    open: Option<usize>,
    stop_sequence: Option<String>,
}

impl Encoder {
    /// An encoder at the start of a reply.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            reply: Collected::default(),
            open: None,
            stop_sequence: None,
        }
    }

    /// Keeps no text, so that memory does not grow with the reply. The [document](Encode::document) then lacks it.
    #[must_use]
    pub fn only_frames(mut self) -> Self {
        self.reply.drops_text = true;
        self
    }

    /// Sets the stop sequence that ends the reply, before its end is written.
    pub fn set_stop_sequence(&mut self, sequence: impl Into<String>) {
        self.stop_sequence = Some(sequence.into());
    }

    /// The parts without a call that was cut, which would look like one without input.
    fn whole_parts(&self) -> impl Iterator<Item = &Part> {
        let is_whole = |part: &&Part| !matches!(part, Part::Call { is_over: false, .. });
        self.reply.parts.iter().filter(is_whole)
    }

    /// Ends the block of text or thinking, if one is open.
    fn close(&mut self, out: &mut Vec<sse::SseEvent>) {
        out.extend(self.open.take().map(stop));
    }

    fn begins(&mut self, part: usize, out: &mut Vec<sse::SseEvent>) {
        self.close(out);
        let block = match &self.reply.parts[part] {
            Part::Text(_) | Part::Refusal(_) => json!({"type": "text", "text": ""}),
            Part::Reasoning(_) => json!({"type": "thinking", "thinking": "", "signature": ""}),
            Part::Call { id, name, .. } => {
                json!({"type": "tool_use", "id": id, "name": name, "input": {}})
            }
        };
        if !matches!(self.reply.parts[part], Part::Call { .. }) {
            self.open = Some(part);
        }
        out.push(frame(
            "content_block_start",
            json!({"index": part, "content_block": block}),
        ));
    }

    fn grows(&self, part: usize, delta: &str) -> sse::SseEvent {
        block_delta(
            part,
            &match &self.reply.parts[part] {
                Part::Text(_) | Part::Refusal(_) => json!({"type": "text_delta", "text": delta}),
                Part::Reasoning(_) => json!({"type": "thinking_delta", "thinking": delta}),
                Part::Call { .. } => json!({"type": "input_json_delta", "partial_json": delta}),
            },
        )
    }

    /// Citations, and the signature of thinking. Without a block that they belong to they are left out.
    fn about(&self, metadata: &ContentMetadata, out: &mut Vec<sse::SseEvent>) {
        let Some(part) = self.open else { return };
        for citation in &metadata.citations {
            let delta = json!({"type": "citations_delta", "citation": citation});
            out.push(block_delta(part, &delta));
        }
        if let Some(signature) = metadata.extensions.get("signature") {
            let delta = json!({"type": "signature_delta", "signature": signature});
            out.push(block_delta(part, &delta));
        }
    }
}

impl Encode for Encoder {
    fn delta(&mut self, delta: &Delta, out: &mut Vec<sse::SseEvent>) {
        for step in self.reply.add(delta) {
            match step {
                Step::Start => {
                    let message = json!({
                        "id": self.id,
                        "type": "message",
                        "role": "assistant",
                        "model": self.reply.model,
                        "content": [],
                        "stop_reason": null,
                        "stop_sequence": null,
                        // The counts come with the end; clients require the field.
                        "usage": {"input_tokens": 0, "output_tokens": 0},
                    });
                    out.push(frame("message_start", json!({"message": message})));
                }
                Step::Begins(part) => self.begins(part, out),
                Step::Grows(part, delta) => out.push(self.grows(part, &delta)),
                Step::Ends(part) => out.push(stop(part)),
                Step::About(metadata) => self.about(metadata, out),
                Step::Usage(counts) => {
                    let usage = usage::of(&counts);
                    out.push(frame("message_delta", json!({"delta": {}, "usage": usage})));
                }
                Step::Finish(reason, counts) => {
                    self.close(out);
                    let counts = counts.unwrap_or_default();
                    out.push(frame(
                        "message_delta",
                        json!({
                            "delta": {"stop_reason": stop_reason(reason), "stop_sequence": self.stop_sequence},
                            "usage": usage::of(&counts),
                        }),
                    ));
                    out.push(frame("message_stop", json!({})));
                }
                Step::Fail { message, code } => {
                    let error = json!({"type": code, "message": message});
                    out.push(frame("error", json!({"error": error})));
                }
            }
        }
    }

    fn document(&self) -> Value {
        let content = self.whole_parts().map(|part| match part {
            Part::Text(text) | Part::Refusal(text) => json!({"type": "text", "text": text}),
            Part::Reasoning(text) => json!({"type": "thinking", "thinking": text, "signature": ""}),
            Part::Call { id, name, json, .. } => {
                let input = read_value(json).ok();
                let input = input.unwrap_or_else(|| json!({}));
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }
        });
        json!({
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.reply.model,
            "content": content.collect::<Vec<_>>(),
            "stop_reason": self.reply.end.as_ref().and_then(stop_reason),
            "stop_sequence": self.stop_sequence,
            "usage": usage::of(&self.reply.usage.unwrap_or_default()),
        })
    }

    fn json(&self) -> String {
        let document = self.document();
        let mut digits = Digits::default();
        for (index, part) in self.whole_parts().enumerate() {
            if let Part::Call { json, .. } = part {
                let input = &document["content"][index]["input"];
                digits.add(&format!("content/{index}/input"), json, input);
            }
        }
        digits.json(&document)
    }
}

/// A frame with its type in the data and in the line `event`, which clients require.
fn frame(kind: &str, fields: Value) -> sse::SseEvent {
    let mut body = json!({"type": kind});
    if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
        body.extend(fields);
    }
    sse::SseEvent::named(kind, body.to_string())
}

fn block_delta(index: usize, delta: &Value) -> sse::SseEvent {
    frame(
        "content_block_delta",
        json!({"index": index, "delta": delta}),
    )
}

fn stop(index: usize) -> sse::SseEvent {
    frame("content_block_stop", json!({"index": index}))
}

fn stop_reason(reason: &StopReason) -> Option<&'static str> {
    Some(match reason {
        StopReason::Stop | StopReason::NextTurn => "end_turn",
        StopReason::StopSequence => "stop_sequence",
        StopReason::ToolUse => "tool_use",
        // Clients check this word against those of the API, none of which says that something else cut the reply.
        StopReason::MaxTokens | StopReason::Error | StopReason::Other(_) => "max_tokens",
        StopReason::ContentFilter => "refusal",
        StopReason::Unspecified | _ => return None,
    })
}
