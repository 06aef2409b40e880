//! Blocks that have begun and are not complete.

use serde::{Deserialize, Serialize};

use crate::accumulate::metadata;
use crate::delta::ContentMetadata;
use crate::message::Content;

/// Text or reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ProseKind {
    /// Text that the user reads.
    Text,
    /// Reasoning of the model.
    Reasoning,
}

/// The one block of text or reasoning that is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prose {
    /// Text or reasoning.
    pub(crate) kind: ProseKind,
    block_index: usize,
    text: String,
    metadata: Option<ContentMetadata>,
}

impl Prose {
    /// Opens a block.
    pub(crate) fn start(
        kind: ProseKind,
        block_index: usize,
        metadata: Option<ContentMetadata>,
    ) -> Self {
        Self {
            kind,
            block_index,
            text: String::new(),
            metadata,
        }
    }

    /// Adds more text.
    pub(crate) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds what is known about the text.
    pub(crate) fn note(&mut self, news: &ContentMetadata) {
        metadata::merge(&mut self.metadata, news);
    }

    /// Ends the block. Returns its place, its content, and what is known about that.
    pub(crate) fn end(self) -> (usize, Content, Option<ContentMetadata>) {
        let text = self.text;
        let content = match self.kind {
            ProseKind::Text => Content::Text { text },
            ProseKind::Reasoning => Content::Reasoning { text },
        };
        (self.block_index, content, self.metadata)
    }
}

/// A tool call that has begun and not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenToolCall {
    /// The index of the block in the message.
    pub(crate) block_index: usize,
    /// The name of the tool.
    pub(crate) name: String,
    /// The part of its input that has arrived.
    pub(crate) json: String,
}

/// A custom block that has begun and is not complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenCustomBlock {
    pub(crate) block_index: usize,
    pub(crate) tag: String,
    pub(crate) ended: bool,
}
