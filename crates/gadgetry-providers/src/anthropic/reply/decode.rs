//! The answer of the Messages API, as deltas.

use std::collections::HashSet;
use std::sync::Arc;

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::ModelErrorKind;
use serde_json::{Map, Value};

use super::block::Block;
use super::fields::{text, whole};
use super::usage::Counts;
use crate::error::ProviderError;
use crate::tools::ToolNames;
use crate::wire::{Decode, StopSequences, add_reason, asked_for, message_end, stop_reason};
use crate::{json, sse};

/// Reads one answer, streamed or whole.
///
/// What it makes of a stream:
///
/// - Blocks come out whole and in the order in which they began, also from a server that mixes their pieces: the pieces
///   of a later block wait until the earlier ones have ended.
/// - The type of a frame is in its data; the line `event:` counts where the data has none.
/// - `stop_reason` makes a reply complete, also without `message_stop`. `message_stop` without a reason ends a reply as
///   [`StopReason::Unspecified`], and what nothing but that completed stays open.
#[derive(Debug, Default)]
pub struct Decoder {
    names: Arc<ToolNames>,
    /// The model whose thoughts are kept for later requests.
    keeps: Option<Arc<str>>,
    /// Blocks that are not completely emitted, in the order in which they began.
    blocks: Vec<Block>,
    /// The ids of all calls.
    ids: HashSet<String>,
    counts: Counts,
    started: bool,
    called_tool: bool,
    stop_reason: Option<StopReason>,
    stops: StopSequences,
    over: bool,
}

impl Decoder {
    /// A decoder at the start of an answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder for a model that was offered tools by these names.
    pub(crate) fn with_names(names: Arc<ToolNames>) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// Keeps the thinking of `model`, with its signatures, as [`Delta::ProviderData`] for later requests.
    #[must_use]
    pub(crate) fn keeping<'m>(mut self, model: impl Into<Option<&'m str>>) -> Self {
        self.keeps = model.into().map(Into::into);
        self
    }

    /// Reads the answer to a request without stop sequences: an answer that says it ended at one was cut.
    #[must_use]
    pub(crate) fn without_stop_sequences(mut self) -> Self {
        self.stops = StopSequences::None;
        self
    }

    fn message(&mut self, message: &Value, out: &mut Vec<Delta>) {
        if !self.started {
            self.started = true;
            let model = text(message, "model").map(whole);
            out.push(Delta::MessageStart { model });
        }
        self.counts.add(&message["usage"]);
        for block in message["content"].as_array().into_iter().flatten() {
            self.start(None, block);
            if let Some(last) = self.blocks.last_mut() {
                last.end();
            }
        }
        self.release(out);
        self.stop(message);
    }

    fn stop(&mut self, body: &Value) {
        let Some(reason) = stop_reason(&body["stop_reason"]) else {
            return;
        };
        let reason = asked_for(reason, self.stops);
        add_reason(&mut self.stop_reason, reason);
    }

    fn start(&mut self, index: Option<u64>, block: &Value) {
        // Without numbers, or with one that is used again, a block has ended the one before.
        if let Some(open) = self.open(index) {
            open.stop();
        }
        self.called_tool |= block["type"] == "tool_use";
        // Another block comes, so the limit has not cut the ones before.
        let doubtful = self.blocks.iter_mut().filter(|block| block.is_doubtful());
        doubtful.for_each(Block::stop);
        let block = Block::new(
            index,
            block,
            &self.names,
            &mut self.ids,
            self.keeps.as_ref(),
        );
        self.blocks.push(block);
    }

    /// The open block of this number, or the last one if a frame has no number.
    fn open(&mut self, index: Option<u64>) -> Option<&mut Block> {
        let is_meant =
            |block: &&mut Block| block.is_open() && (index.is_none() || block.index == index);
        self.blocks.iter_mut().rev().find(is_meant)
    }

    /// Takes more of a block. `false` if its meaning is unknown.
    fn delta(&mut self, index: Option<u64>, delta: &Value) -> bool {
        if self.open(index).is_none() {
            let kind = match delta["type"].as_str() {
                Some("text_delta") => "text",
                Some("thinking_delta" | "signature_delta") => "thinking",
                _ => return false,
            };
            let mut block = Map::new();
            block.insert("type".to_owned(), kind.into());
            self.start(index, &Value::Object(block));
        }
        self.open(index).is_some_and(|block| block.push(delta))
    }

    /// Emits the deltas that wait for no earlier block.
    fn release(&mut self, out: &mut Vec<Delta>) {
        // A server that mixes the pieces of two blocks sends A1 B1 A2 B2. A1 and A2 are emitted as they come; B1 and B2
        // wait in block B until block A has ended, so that no text ends up between the pieces of a call.
        let mut whole = 0;
        for block in &mut self.blocks {
            out.append(&mut block.ready);
            if !block.is_over() {
                break;
            }
            whole += 1;
        }
        self.blocks.drain(..whole);
    }

    fn finish(&mut self, out: &mut Vec<Delta>) {
        self.over = true;
        let stop_reason = self.stop_reason.take().unwrap_or(StopReason::Unspecified);
        // A call that may have been cut off stays open.
        let close = if stop_reason.is_clean() {
            Block::stop
        } else {
            Block::cut
        };
        self.blocks.iter_mut().for_each(close);
        self.release(out);
        let usage = self.counts.is_known().then(|| self.counts.usage());
        out.push(message_end(stop_reason, self.called_tool, usage));
    }

    /// Ends a reply that was cut off; everything before the cut counts.
    fn cut(&mut self, out: &mut Vec<Delta>) {
        self.blocks.iter_mut().for_each(Block::cut);
        self.release(out);
        if self.counts.is_known() {
            let usage = self.counts.usage();
            out.push(Delta::Usage { usage });
        }
    }

    fn fail(&mut self, error: ProviderError, out: &mut Vec<Delta>) {
        self.over = true;
        self.cut(out);
        out.push(error.into());
    }
}

impl Decode for Decoder {
    fn frame(&mut self, frame: &sse::SseEvent, out: &mut Vec<Delta>) -> bool {
        let data = frame.data.trim();
        if self.over || data.is_empty() || data == "[DONE]" {
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
        let index = body["index"].as_u64();
        match kind {
            Some("message_start") => {
                self.message(&body["message"], out);
            }
            Some("content_block_start") => {
                self.start(index, &body["content_block"]);
                let known = self.blocks.last().is_some_and(Block::is_known);
                self.release(out);
                return known;
            }
            Some("content_block_delta") => {
                let known = self.delta(index, &body["delta"]);
                self.release(out);
                return known;
            }
            Some("content_block_stop") => {
                if let Some(block) = self.open(index) {
                    block.end();
                }
                self.release(out);
            }
            Some("message_delta") => {
                self.stop(&body["delta"]);
                self.counts.add(&body["usage"]);
            }
            Some("message_stop") => self.finish(out),
            Some("ping") => {}
            Some("error") => self.fail(error(&mut body), out),
            _ if body["error"].is_object() => self.fail(error(&mut body), out),
            _ => return false,
        }
        true
    }

    fn reply(&mut self, mut body: Value, out: &mut Vec<Delta>) {
        if body["type"] == "error" {
            return self.fail(error(&mut body), out);
        }
        if let Some(text) = text(&body, "content") {
            let block = serde_json::json!({"type": "text", "text": text});
            body["content"] = Value::Array(vec![block]);
        }
        if body["content"].is_array() {
            self.message(&body, out);
            self.finish(out);
        }
    }

    fn may_end(&self) -> bool {
        self.stop_reason.is_some() && self.blocks.is_empty()
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        if self.over {
            return;
        }
        if self.stop_reason.is_some() {
            return self.finish(out);
        }
        self.cut(out);
    }
}

fn error(body: &mut Value) -> ProviderError {
    json::whole_value(body);
    let mut error = ProviderError::reported(body);
    if error.kind == ModelErrorKind::Other && error.code.as_deref() == Some("request_too_large") {
        error.kind = ModelErrorKind::BadRequest;
    }
    error
}
