//! The events of a reply, block by block, as the vectors list them.
//!
//! Nothing in the product reads a reply like this. The events follow from the state of the accumulator before and after each
//! delta, so they show that a block keeps its place from its start to its end, and that every block that starts also ends.

use gadgetry_proto::accumulate::{AccumulatedReply, Accumulator};
use gadgetry_proto::delta::Delta;
use serde::Serialize;
use serde_json::{Value, json};

/// An accumulator, and the events of its reply so far, as JSON.
pub struct Stream {
    pub reply: Accumulator,
    pub events: Vec<Value>,
}

/// Accumulates the deltas of a whole reply.
pub fn accumulate(model: Option<&str>, deltas: &[Delta]) -> (Vec<Value>, AccumulatedReply) {
    let mut stream = Stream::new(Accumulator::new(model.map(str::to_owned)));
    for delta in deltas {
        stream.apply(delta);
    }
    stream.finish()
}

impl Stream {
    pub fn new(reply: Accumulator) -> Self {
        Self {
            reply,
            events: Vec::new(),
        }
    }

    /// Takes one delta.
    pub fn apply(&mut self, delta: &Delta) {
        let before = value(&self.reply);
        self.reply.push(delta);
        let after = value(&self.reply);
        self.frame(&before, &after);
        let delta = value(delta);
        let kind = delta["type"].as_str().expect("a delta has a type");
        match kind {
            "text" | "reasoning" if delta["delta"] != "" => self.text(&before, &after, &delta),
            "tool_call_start" => self.tool_call_starts(&before, &delta),
            "tool_call_delta" if delta["delta"] != "" => {
                let open = &before["toolCalls"][text(&delta["id"])];
                let more = json!({"callId": delta["id"], "delta": delta["delta"]});
                self.more(kind, &open["blockIndex"], &more);
            }
            "tool_call_end" => self.tool_call_ends(&before, &after, &delta["id"]),
            "tool_call" => {
                self.tool_call_starts(&before, &delta);
                let mut open = before.clone();
                open["toolCalls"] = json!({text(&delta["id"]): {}});
                self.tool_call_ends(&open, &after, &delta["id"]);
            }
            "error" => self.errors(&before, &after),
            "raw" | "diagnostic" => self.events.push(delta),
            "provider_data" => {
                let index = begun(&after);
                let mut data = delta.clone();
                data.as_object_mut().expect("an object").remove("type");
                self.event(kind, &json!({"blockIndex": index, "data": data}));
            }
            "custom_block_start" if before["customBlocks"][text(&delta["blockId"])].is_null() => {
                let index = begun(&after);
                self.more(kind, &index, &delta);
            }
            "custom_block_delta" | "custom_block_end" if delta["delta"] != "" => {
                let open = &before["customBlocks"][text(&delta["blockId"])];
                if open["ended"] == false {
                    let mut delta = delta.clone();
                    delta["tag"] = open["tag"].clone();
                    self.more(kind, &open["blockIndex"], &delta);
                }
            }
            "custom_block" => {
                let open = &before["customBlocks"][text(&delta["blockId"])];
                if open["ended"] == false {
                    let is_closed = delta["selfClosing"] != true;
                    let reason = if is_closed { "closed" } else { "selfClosing" };
                    self.custom_block_ends(&delta["blockId"], open, reason);
                }
                let index = kept_or_begun(&open["blockIndex"], &after);
                self.more(kind, &index, &delta);
            }
            "gadget_call_start"
                if before["gadgetCalls"][text(&delta["invocationId"])].is_null() =>
            {
                let index = begun(&after);
                self.more(kind, &index, &delta);
            }
            "gadget_args_partial" => {
                self.more(
                    kind,
                    &before["gadgetCalls"][text(&delta["invocationId"])],
                    &delta,
                );
            }
            "gadget_call" => {
                let known = &before["gadgetCalls"][text(&delta["invocationId"])];
                let index = kept_or_begun(known, &after);
                self.more(kind, &index, &delta);
            }
            _ => {}
        }
    }

    /// The stream is over.
    pub fn finish(mut self) -> (Vec<Value>, AccumulatedReply) {
        let output = self.reply.clone().into_output();
        let open = value(&self.reply);
        if open["started"] == false {
            self.message_starts(&open);
        }
        if !open["prose"].is_null() {
            self.prose_ends(&open["prose"]);
        }
        for (id, _) in in_order(&open["toolCalls"]) {
            let before = value(&self.reply);
            let end = json!({"type": "tool_call_end", "id": id});
            self.reply
                .push(&serde_json::from_value(end).expect("a delta"));
            let after = value(&self.reply);
            self.tool_call_ends(&before, &after, &json!(id));
        }
        for (id, block) in in_order(&open["customBlocks"]) {
            if block["ended"] == false {
                self.custom_block_ends(&json!(id), &block, "endOfStream");
            }
        }
        let mut end = json!({"usage": output.usage});
        if let Some(reason) = &output.stop_reason {
            end["stopReason"] = value(reason);
        }
        self.event("message_end", &end);
        // The accumulator has ended the calls in the same way.
        assert_eq!(self.reply.into_output(), output);
        (self.events, output)
    }

    /// The beginning of the message, and the end of a text that another block has ended.
    fn frame(&mut self, before: &Value, after: &Value) {
        if before["started"] != after["started"] {
            self.message_starts(after);
        }
        let open = &before["prose"];
        if !open.is_null() && open["blockIndex"] != after["prose"]["blockIndex"] {
            self.prose_ends(open);
        }
    }

    fn message_starts(&mut self, state: &Value) {
        let mut start = json!({"role": "assistant"});
        if !state["model"].is_null() {
            start["model"] = state["model"].clone();
        }
        self.event("message_start", &start);
    }

    fn text(&mut self, before: &Value, after: &Value, delta: &Value) {
        let prose = &after["prose"];
        let mut about = json!({"blockIndex": prose["blockIndex"]});
        let is_text = prose["kind"] == "text";
        let name = if is_text { "content" } else { "reasoning" };
        if is_text {
            about["blockType"] = json!("text");
        }
        if before["prose"]["blockIndex"] != prose["blockIndex"] {
            self.event(&format!("{name}_start"), &with_metadata(&about, prose));
        }
        about["delta"] = delta["delta"].clone();
        self.event(&format!("{name}_delta"), &about);
    }

    fn prose_ends(&mut self, prose: &Value) {
        let index = &prose["blockIndex"];
        if prose["kind"] == "text" {
            let end = json!({"blockIndex": index, "blockType": "text"});
            self.event("content_end", &with_metadata(&end, prose));
            let content = json!({"type": "text", "text": prose["text"]});
            let whole = json!({"blockIndex": index, "content": content});
            self.event("content", &with_metadata(&whole, prose));
        } else {
            let end = json!({"blockIndex": index});
            self.event("reasoning_end", &with_metadata(&end, prose));
            let whole = json!({"blockIndex": index, "reasoning": prose["text"]});
            self.event("reasoning", &with_metadata(&whole, prose));
        }
    }

    fn tool_call_starts(&mut self, before: &Value, delta: &Value) {
        if before["toolCalls"][text(&delta["id"])].is_null() {
            let index = begun(&value(&self.reply));
            let start = json!({"callId": delta["id"], "name": delta["name"], "blockIndex": index});
            self.event("tool_call_start", &start);
        }
    }

    fn tool_call_ends(&mut self, before: &Value, after: &Value, id: &Value) {
        if before["toolCalls"][text(id)].is_null() {
            return;
        }
        let index = &after["toolUses"][text(id)];
        self.event("tool_call_end", &json!({"callId": id, "blockIndex": index}));
        self.errors(before, after);
        let place = usize::try_from(index.as_u64().expect("an index")).expect("it is small");
        let call = &after["places"][place]["content"];
        let whole = json!({"callId": id, "name": call["name"], "input": call["input"], "blockIndex": index});
        self.event("tool_call", &whole);
    }

    fn custom_block_ends(&mut self, id: &Value, open: &Value, reason: &str) {
        let end = json!({"blockId": id, "tag": open["tag"], "reason": reason});
        self.more("custom_block_end", &open["blockIndex"], &end);
    }

    /// The errors that were added.
    fn errors(&mut self, before: &Value, after: &Value) {
        let known = before["errors"].as_array().map_or(0, Vec::len);
        let errors = after["errors"].as_array().expect("a list").clone();
        for error in errors.into_iter().skip(known) {
            self.event("error", &json!({"error": error}));
        }
    }

    /// An event about a block, unless there is no such block.
    fn more(&mut self, kind: &str, index: &Value, fields: &Value) {
        if !index.is_null() {
            let mut fields = fields.clone();
            fields["blockIndex"] = index.clone();
            self.event(kind, &fields);
        }
    }

    fn event(&mut self, kind: &str, fields: &Value) {
        let mut event = fields.clone();
        event["type"] = json!(kind);
        self.events.push(event);
    }
}

/// The place of the block that began last.
fn begun(after: &Value) -> Value {
    json!(
        after["places"]
            .as_array()
            .map_or(0, |places| places.len() - 1)
    )
}

fn kept_or_begun(known: &Value, after: &Value) -> Value {
    if known.is_null() {
        begun(after)
    } else {
        known.clone()
    }
}

/// Blocks by id, in the order in which they began.
fn in_order(blocks: &Value) -> Vec<(String, Value)> {
    let blocks = blocks.as_object().expect("an object").clone();
    let mut blocks: Vec<_> = blocks.into_iter().collect();
    blocks.sort_by_key(|(_, block)| block["blockIndex"].as_u64());
    blocks
}

fn with_metadata(fields: &Value, prose: &Value) -> Value {
    let mut fields = fields.clone();
    if !prose["metadata"].is_null() {
        fields["metadata"] = prose["metadata"].clone();
    }
    fields
}

fn text(id: &Value) -> &str {
    id.as_str().expect("ids are texts")
}

fn value(of: &impl Serialize) -> Value {
    serde_json::to_value(of).expect("it is JSON")
}
