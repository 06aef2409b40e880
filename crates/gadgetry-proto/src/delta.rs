//! A reply as it streams: the deltas of its provider and of each stage.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Call;
use crate::error::{Diagnostic, ModelError, ModelErrorKind};
use crate::json::bounded;
use crate::message::{CustomContentBlock, ProviderData};
use crate::piece::{ArgsPartial, BlockDelta, BlockEnd, BlockStart, CallStart};
use crate::usage::Usage;

/// One piece of a reply: what a provider sends, and what the stages of the pipeline make of it.
///
/// Names and fields follow the adapter deltas of the custom-blocks specification.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum Delta {
    /// Text of the reply.
    Text {
        /// More text; may be empty.
        delta: String,
        /// The provider's metadata.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<ContentMetadata>,
    },
    /// Reasoning of the model.
    Reasoning {
        /// More text.
        delta: String,
        /// The provider's metadata.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<ContentMetadata>,
    },
    /// A tool call through the provider's own interface begins.
    ToolCallStart {
        /// The provider's id.
        id: String,
        /// The name of the tool.
        name: String,
    },
    /// More JSON text of its input.
    ToolCallDelta {
        /// The provider's id.
        id: String,
        /// JSON text.
        delta: String,
    },
    /// The call is complete.
    ToolCallEnd {
        /// The provider's id.
        id: String,
        /// The input, if the provider sends it whole; otherwise the deltas are joined.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
    },
    /// A whole tool call at once.
    ToolCall {
        /// The provider's id.
        id: String,
        /// The name of the tool.
        name: String,
        /// The parameters.
        input: Value,
    },
    /// The reply begins.
    MessageStart {
        /// The model that answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The model ended its reply.
    MessageEnd {
        /// The reason it stopped.
        stop_reason: StopReason,
        /// Token counts of the whole reply.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// Token counts so far.
    Usage {
        /// The counts.
        usage: Usage,
    },
    /// The model call failed; nothing follows.
    Error(ModelError),
    /// A frame of the provider that has no other form.
    Raw {
        /// The frame.
        data: Value,
    },
    /// Metadata of the current or next text.
    ContentMetadata {
        /// The metadata.
        metadata: ContentMetadata,
    },
    /// Metadata of the current or next reasoning.
    ReasoningMetadata {
        /// The metadata.
        metadata: ContentMetadata,
    },
    /// Data that later requests send back to the provider with this reply.
    ProviderData(ProviderData),
    /// A custom block opens.
    CustomBlockStart(BlockStart),
    /// More content of a custom block.
    CustomBlockDelta(BlockDelta),
    /// A custom block ends.
    CustomBlockEnd(BlockEnd),
    /// A custom block is complete.
    CustomBlock(CustomContentBlock),
    /// The header of a gadget block is complete.
    GadgetCallStart(CallStart),
    /// More text of an argument.
    GadgetArgsPartial(ArgsPartial),
    /// A gadget block is complete.
    GadgetCall(Arc<Call>),
    /// A problem or correction in the reply.
    Diagnostic(Diagnostic),
}

impl From<ModelError> for Delta {
    fn from(error: ModelError) -> Self {
        Self::Error(error)
    }
}

impl Delta {
    /// An error with nothing but its message.
    pub fn error(error: impl Into<String>) -> Self {
        Self::Error(ModelError::new(ModelErrorKind::Other, error))
    }

    /// A text delta without metadata.
    pub fn text(delta: impl Into<String>) -> Self {
        Self::Text {
            delta: delta.into(),
            metadata: None,
        }
    }
}

/// The part of a reply that a [`Delta`] belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeltaKind {
    /// The text of the reply.
    Text,
    /// The reasoning of the model.
    Reasoning,
    /// A call through the provider's own interface.
    ToolCall,
    /// A custom block.
    CustomBlock,
    /// A gadget call.
    GadgetCall,
    /// No content: a frame, a count, an error, metadata or a remark. It has no place among the content, so what comes
    /// before and after it may belong together.
    Frame,
}

/// The kinds of deltas. This is the one list of the variants by kind.
impl Delta {
    /// Returns the part of a reply that the delta belongs to.
    ///
    /// ```
    /// use gadgetry_proto::delta::{Delta, DeltaKind};
    /// assert_eq!(Delta::text("Hi").kind(), DeltaKind::Text);
    /// ```
    pub fn kind(&self) -> DeltaKind {
        match self {
            Self::Text { .. } => DeltaKind::Text,
            Self::Reasoning { .. } => DeltaKind::Reasoning,
            Self::ToolCallStart { .. }
            | Self::ToolCallDelta { .. }
            | Self::ToolCallEnd { .. }
            | Self::ToolCall { .. } => DeltaKind::ToolCall,
            Self::CustomBlockStart(_)
            | Self::CustomBlockDelta(_)
            | Self::CustomBlockEnd(_)
            | Self::CustomBlock(_) => DeltaKind::CustomBlock,
            Self::GadgetCallStart(_) | Self::GadgetArgsPartial(_) | Self::GadgetCall(_) => {
                DeltaKind::GadgetCall
            }
            Self::MessageStart { .. }
            | Self::MessageEnd { .. }
            | Self::Usage { .. }
            | Self::Error(_)
            | Self::Raw { .. }
            | Self::ContentMetadata { .. }
            | Self::ReasoningMetadata { .. }
            | Self::ProviderData(_)
            | Self::Diagnostic(_) => DeltaKind::Frame,
        }
    }

    /// The same, with the input of a complete tool call as JSON text if it is nested more than 100 levels deep: as a value it
    /// could be written to a [log](crate::run::Input), but not read from it.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        if let Self::ToolCall { input, .. }
        | Self::ToolCallEnd {
            input: Some(input), ..
        } = &mut self
        {
            *input = bounded(input.take());
        }
        self
    }

    /// Returns `true` if something may act on it, so that the reply can no longer be withdrawn. Text, reasoning and a call through
    /// the provider's interface that has only begun are shown, and nothing more.
    pub(crate) fn is_action(&self) -> bool {
        match self.kind() {
            DeltaKind::CustomBlock | DeltaKind::GadgetCall => true,
            DeltaKind::ToolCall => {
                matches!(self, Self::ToolCallEnd { .. } | Self::ToolCall { .. })
            }
            DeltaKind::Text | DeltaKind::Reasoning | DeltaKind::Frame => false,
        }
    }
}

/// The reason a model stopped.
///
/// Only [`StopReason::Stop`], [`StopReason::StopSequence`], [`StopReason::ToolUse`] and [`StopReason::NextTurn`] say that the reply is
/// whole; after any other reason it may have been cut off. What only its end completed is not executed then, nor after
/// [`StopReason::NextTurn`].
///
/// ```
/// use gadgetry_proto::delta::StopReason;
/// assert!(StopReason::ToolUse.is_clean());
/// assert!(!StopReason::MaxTokens.is_clean());
/// assert!(!StopReason::Other("abort".to_owned()).is_clean());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The reply is complete.
    Stop,
    /// The token limit was reached.
    MaxTokens,
    /// A stop sequence that the request had was written. A backend reports a reply that claims this without one as
    /// [`StopReason::Other`]: something else cut it.
    StopSequence,
    /// The model waits for the result of a tool call.
    ToolUse,
    /// The model has begun the next turn, by which one that only completes text ends its reply. The text is whole; a call that is
    /// open then is not, because what ended it may have been a part of a value.
    NextTurn,
    /// The provider withheld the rest.
    ContentFilter,
    /// An error.
    Error,
    /// The reply has ended, but the provider gave no reason.
    Unspecified,
    /// Any other reason, as the provider names it.
    #[serde(untagged)]
    Other(String),
}

impl StopReason {
    /// Returns `true` if the model finished its reply. This is an allow-list: an unknown reason is not clean.
    pub fn is_clean(&self) -> bool {
        match self {
            Self::Stop | Self::StopSequence | Self::ToolUse | Self::NextTurn => true,
            Self::MaxTokens
            | Self::ContentFilter
            | Self::Error
            | Self::Unspecified
            | Self::Other(_) => false,
        }
    }

    /// The reason of a reply that reports `later` after this one. A reply that was cut off stays so, whatever follows.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        if self.is_clean() { later } else { self }
    }
}

/// The reason as in JSON. A provider's own reason is shortened to one line without special characters.
impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 60;
        let is_plain = |c: char| c.is_alphanumeric() || "_-. /:".contains(c);
        f.write_str(match self {
            Self::Stop => "stop",
            Self::MaxTokens => "max_tokens",
            Self::StopSequence => "stop_sequence",
            Self::ToolUse => "tool_use",
            Self::NextTurn => "next_turn",
            Self::ContentFilter => "content_filter",
            Self::Error => "error",
            Self::Unspecified => "unspecified",
            Self::Other(word) => {
                let mut chars = word.chars().take(LONGEST);
                return chars.try_for_each(|c| f.write_char(if is_plain(c) { c } else { '?' }));
            }
        })
    }
}

/// Metadata of a text, as the provider sends it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContentMetadata {
    /// Sources of the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Value>,
    /// Notes on the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<Value>,
    /// The language of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The media type of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Other fields.
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub extensions: serde_json::Map<String, Value>,
}
