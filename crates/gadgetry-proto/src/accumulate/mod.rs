//! From deltas to one message.
//!
//! Text, reasoning, custom blocks, gadget calls and tool calls stand in **one** list, each at the place where it began.
//! A block index is a place in that list; a block keeps it from its start to its end.
//!
//! The rules:
//!
//! - Text and reasoning end each other, and any other block that begins ends both. Everything else may be open at the
//!   same time: tool calls stream in parallel, each under its own index.
//! - [`Delta::MessageEnd`] says why the model stopped and what it used; it closes nothing. Whatever comes after it
//!   (text that a transform buffered, late counts) is part of the reply like everything before, so its place among the
//!   deltas never changes the message. [`Accumulator::into_output`] ends what is open, also of a stream that broke off.
//! - Empty text creates nothing. A start for something that is already open changes nothing. More of something that was
//!   never started, or has ended, is dropped.
//! - Metadata belongs to the open text (or reasoning), or else to the next one; if none comes, it is dropped.
//! - The input of a tool call is what the provider gave whole, or else the joined JSON text; no text means `{}`. What
//!   is not JSON stays text, with an error: it is the model's fault, and the tool's to refuse. So
//!   does what has, together with the inputs before it, more than 100,000 values.
//! - Data that a provider wants back is a block of its own, complete at once.
//! - An error ends nothing.
//! - A block that was announced but never completed (a transform put something else in its place) leaves no content,
//!   but keeps its index.
//!
//! ```
//! use gadgetry_proto::accumulate::Accumulator;
//! use gadgetry_proto::delta::Delta;
//! use gadgetry_proto::message::{Message, Role};
//!
//! let mut reply = Accumulator::new(Some("some-model".into()));
//! reply.push(&Delta::text("Hello, "));
//! reply.push(&Delta::text("world"));
//! let output = reply.into_output();
//! assert_eq!(output.message, Message::text(Role::Assistant, "Hello, world"));
//! ```

mod custom_block;
mod error;
mod gadget_call;
mod metadata;
mod open;
mod prose;
mod tool_call;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::accumulate::error::StreamError;
use crate::accumulate::open::{OpenCustomBlock, OpenToolCall, Prose, ProseKind};
use crate::delta::ContentMetadata;
use crate::delta::Delta;
use crate::delta::StopReason;
use crate::id::BlockId;
use crate::id::InvocationId;
use crate::message::Content;
use crate::message::Message;
use crate::message::ProviderData;
use crate::message::Role;
use crate::usage::Usage;

/// The message of a whole reply, and its metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccumulatedReply {
    /// The assistant's message. Its `raw` text is absent: the accumulator never sees the tags and markers as written.
    pub message: Message,
    /// Provider metadata of texts and reasoning, each with its index in `message.content`, in that order.
    pub metadata: Vec<(usize, ContentMetadata)>,
    /// The reason the model stopped; absent if the stream broke off before it was reported.
    pub stop_reason: Option<StopReason>,
    /// Field by field the largest count that was reported.
    pub usage: Usage,
    /// The model that answered: the last one that the stream named, or the requested one.
    pub model: Option<String>,
    /// Every failure that was reported inside the stream.
    pub errors: Vec<StreamError>,
}

/// Makes one message of the deltas of one reply. See the [module](self) for the rules.
///
/// It can be saved and loaded between any two deltas. It holds the content of the reply once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Accumulator {
    model: Option<String>,
    started: bool,
    stop_reason: Option<StopReason>,
    usage: Usage,
    errors: Vec<StreamError>,
    /// Blocks of the message, by block index.
    places: Vec<BlockSlot>,
    prose: Option<Prose>,
    tool_calls: BTreeMap<String, OpenToolCall>,
    /// The place of the last complete tool call of each id.
    #[serde(default)]
    tool_uses: BTreeMap<String, usize>,
    /// Number of JSON values in the inputs of tool calls that were read as JSON.
    #[serde(default)]
    json_values: usize,
    custom_blocks: BTreeMap<BlockId, OpenCustomBlock>,
    gadget_calls: BTreeMap<InvocationId, usize>,
    next_text_metadata: Option<ContentMetadata>,
    next_reasoning_metadata: Option<ContentMetadata>,
}

/// The place of one block; empty until it is complete.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct BlockSlot {
    content: Option<Content>,
    metadata: Option<ContentMetadata>,
}

impl Accumulator {
    /// Creates an accumulator for a reply of `model`, unless the stream names another.
    pub fn new(model: Option<String>) -> Self {
        Self {
            model,
            ..Self::default()
        }
    }

    /// Takes one delta.
    pub fn push(&mut self, delta: &Delta) {
        match delta {
            Delta::Text { delta, metadata } => {
                self.write(ProseKind::Text, delta, metadata.as_ref());
            }
            Delta::Reasoning { delta, metadata } => {
                self.write(ProseKind::Reasoning, delta, metadata.as_ref());
            }
            Delta::ContentMetadata { metadata } => self.note(ProseKind::Text, metadata),
            Delta::ReasoningMetadata { metadata } => self.note(ProseKind::Reasoning, metadata),
            Delta::ToolCallStart { id, name } => self.start_tool_call(id, name),
            Delta::ToolCallDelta { id, delta } => self.write_tool_call(id, delta),
            Delta::ToolCallEnd { id, input } => self.end_tool_call(id, input.clone()),
            Delta::ToolCall { id, name, input } => {
                self.start_tool_call(id, name);
                self.end_tool_call(id, Some(input.clone()));
            }
            Delta::MessageStart { model } => {
                if model.is_some() {
                    self.model.clone_from(model);
                }
                self.start_message();
            }
            Delta::MessageEnd { stop_reason, usage } => {
                // The first reason counts, unless a later one says that the reply was cut off.
                let counts = self
                    .stop_reason
                    .as_ref()
                    .is_none_or(|first| first.is_clean() && !stop_reason.is_clean());
                if counts {
                    self.stop_reason = Some(stop_reason.clone());
                }
                self.usage = self.usage.max(usage.unwrap_or_default());
            }
            Delta::Usage { usage } => self.usage = self.usage.max(*usage),
            Delta::Error(error) => {
                let code = error.code.as_deref().unwrap_or(StreamError::PROVIDER);
                let error = StreamError {
                    message: error.message.clone(),
                    code: code.to_owned(),
                };
                self.start_message();
                self.errors.push(error);
            }
            Delta::ProviderData(data) => self.keep(data),
            Delta::Raw { .. } | Delta::Diagnostic(_) => self.start_message(),
            Delta::CustomBlockStart(start) => self.start_custom_block(start),
            Delta::CustomBlockEnd(end) => self.end_custom_block(end.block_id),
            // Their content comes again with the complete block or call.
            Delta::CustomBlockDelta(_) | Delta::GadgetArgsPartial(_) => {}
            Delta::CustomBlock(block) => self.complete_custom_block(block),
            Delta::GadgetCallStart(start) => self.start_gadget_call(start),
            Delta::GadgetCall(call) => self.complete_gadget_call(call),
        }
    }

    /// The complete tool call of this id that came last.
    pub fn tool_use(&self, id: &str) -> Option<&Content> {
        self.places.get(*self.tool_uses.get(id)?)?.content.as_ref()
    }

    /// Returns `true` if the reply has a tool call, complete or not.
    pub(crate) fn has_tool_calls(&self) -> bool {
        !self.tool_calls.is_empty() || !self.tool_uses.is_empty()
    }

    /// Returns the reason the model stopped, if it was reported.
    pub fn stop_reason(&self) -> Option<&StopReason> {
        self.stop_reason.as_ref()
    }

    /// Ends the stream: closes what is open, and returns the message.
    pub fn into_output(mut self) -> AccumulatedReply {
        self.end_prose();
        self.end_tool_calls();
        let mut content = Vec::with_capacity(self.places.len());
        let mut metadata = Vec::new();
        for place in self.places {
            metadata.extend(place.metadata.map(|known| (content.len(), known)));
            content.extend(place.content);
        }
        AccumulatedReply {
            message: Message {
                role: Role::Assistant,
                content,
                raw: None,
            },
            metadata,
            stop_reason: self.stop_reason,
            usage: self.usage,
            model: self.model,
            errors: self.errors,
        }
    }
}

/// The steps that all kinds of blocks share.
impl Accumulator {
    /// Ends open text or reasoning and gives the next block its place.
    fn begin(&mut self) -> usize {
        self.start_message();
        self.end_prose();
        self.places.push(BlockSlot::default());
        self.places.len() - 1
    }

    /// Puts a complete block in its place.
    fn fill(&mut self, block_index: usize, content: Content, metadata: Option<ContentMetadata>) {
        if let Some(place) = self.places.get_mut(block_index) {
            place.content = Some(content);
            place.metadata = metadata;
        }
    }

    fn keep(&mut self, data: &ProviderData) {
        let block_index = self.begin();
        self.fill(block_index, Content::ProviderData(data.clone()), None);
    }

    /// Notes that the reply has begun; saved runs have this.
    fn start_message(&mut self) {
        self.started = true;
    }
}
