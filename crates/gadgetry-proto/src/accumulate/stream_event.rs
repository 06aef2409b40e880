//! The events of a reply while it is accumulated.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Call;
use crate::delta::ContentMetadata;
use crate::delta::StopReason;
use crate::error::Diagnostic;
use crate::message::Content;
use crate::message::CustomContentBlock;
use crate::message::ProviderData;
use crate::message::Role;
use crate::piece::{ArgsPartial, BlockDelta, BlockEnd, BlockStart, CallStart};
use crate::usage::Usage;

/// One event of a reply.
///
/// `MessageStart` is the first and `MessageEnd` the last; between them every block that starts also ends. `block_index`
/// is the place of a block among all blocks of the reply, in the order in which they began, and the same on all of its
/// events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum StreamEvent {
    /// The reply begins.
    MessageStart {
        /// Always the assistant.
        role: Role,
        /// The model that answers, as far as it is known by now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// Text begins.
    ContentStart {
        /// The kind of block.
        block_type: BlockType,
        /// The block.
        block_index: usize,
        /// What is known about it so far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<ContentMetadata>,
    },
    /// More text; never empty.
    ContentDelta {
        /// The kind of block.
        block_type: BlockType,
        /// The block.
        block_index: usize,
        /// More text.
        delta: String,
    },
    /// Text ends.
    ContentEnd {
        /// The kind of block.
        block_type: BlockType,
        /// The block.
        block_index: usize,
        /// What is known about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<ContentMetadata>,
    },
    /// The whole text; follows its end.
    Content {
        /// The block.
        block_index: usize,
        /// As in the message.
        content: Content,
        /// What is known about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<ContentMetadata>,
    },
    /// Reasoning begins.
    ReasoningStart {
        /// The block.
        block_index: usize,
        /// What is known about it so far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<ContentMetadata>,
    },
    /// More reasoning; never empty.
    ReasoningDelta {
        /// The block.
        block_index: usize,
        /// More text.
        delta: String,
    },
    /// Reasoning ends.
    ReasoningEnd {
        /// The block.
        block_index: usize,
        /// What is known about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<ContentMetadata>,
    },
    /// The whole reasoning; follows its end.
    Reasoning {
        /// The block.
        block_index: usize,
        /// The text.
        reasoning: String,
        /// What is known about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<ContentMetadata>,
    },
    /// A tool call through the provider's own interface begins.
    ToolCallStart {
        /// The provider's id.
        call_id: String,
        /// The tool.
        name: String,
        /// The block.
        block_index: usize,
    },
    /// More JSON text of its input.
    ToolCallDelta {
        /// The provider's id.
        call_id: String,
        /// The block.
        block_index: usize,
        /// JSON text.
        delta: String,
    },
    /// Its input is complete.
    ToolCallEnd {
        /// The provider's id.
        call_id: String,
        /// The block.
        block_index: usize,
    },
    /// The whole tool call; follows its end.
    ToolCall {
        /// The provider's id.
        call_id: String,
        /// The tool.
        name: String,
        /// Its parameters. Text, if the model wrote no JSON.
        input: Value,
        /// The block.
        block_index: usize,
    },
    /// A custom block opens.
    CustomBlockStart {
        /// The place in the reply.
        block_index: usize,
        /// The opening tag.
        #[serde(flatten)]
        start: BlockStart,
    },
    /// More content of a custom block.
    CustomBlockDelta {
        /// The place in the reply.
        block_index: usize,
        /// The content.
        #[serde(flatten)]
        more: BlockDelta,
    },
    /// A custom block ends.
    CustomBlockEnd {
        /// The place in the reply.
        block_index: usize,
        /// The end.
        #[serde(flatten)]
        end: BlockEnd,
    },
    /// A custom block is complete.
    CustomBlock {
        /// The place in the reply.
        block_index: usize,
        /// As in the message.
        #[serde(flatten)]
        block: CustomContentBlock,
    },
    /// The header of a gadget block is complete.
    GadgetCallStart {
        /// The place in the reply.
        block_index: usize,
        /// The header.
        #[serde(flatten)]
        start: CallStart,
    },
    /// More text of an argument.
    GadgetArgsPartial {
        /// The place in the reply.
        block_index: usize,
        /// The text.
        #[serde(flatten)]
        args: ArgsPartial,
    },
    /// A gadget block is complete.
    GadgetCall {
        /// The block.
        block_index: usize,
        /// As in the message.
        #[serde(flatten)]
        call: Arc<Call>,
    },
    /// What the provider wants back with this reply in later requests.
    ProviderData {
        /// The block.
        block_index: usize,
        /// As in the message.
        data: ProviderData,
    },
    /// The reply has ended.
    MessageEnd {
        /// Why; absent if the stream broke off before the model said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop_reason: Option<StopReason>,
        /// All counts.
        usage: Usage,
    },
    /// Something failed inside the stream. It ends no block.
    Error {
        /// What.
        error: StreamError,
    },
    /// A frame of the provider that has no other form.
    Raw {
        /// The frame.
        data: Value,
    },
    /// Something noteworthy about the reply.
    Diagnostic(Diagnostic),
}

/// The kinds of blocks that `content_…` events tell of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BlockType {
    /// Visible text.
    Text,
}

/// A failure inside a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamError {
    /// A message that says whose fault it is.
    pub message: String,
    /// The provider's code, [`StreamError::PROVIDER`], or [`StreamError::TOOL_INPUT`].
    pub code: String,
}

impl StreamError {
    /// The code of an error to which the provider gave none.
    pub const PROVIDER: &str = "stream_error";
    /// The code when the model wrote something else than JSON as the input of a tool call.
    pub const TOOL_INPUT: &str = "invalid_tool_input";
}
