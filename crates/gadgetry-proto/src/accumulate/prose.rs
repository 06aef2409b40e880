//! Text and reasoning: the two kinds of blocks that have no end of their own.

use serde::{Deserialize, Serialize};

use crate::accumulate::Accumulator;
use crate::accumulate::metadata;
use crate::accumulate::sink::Sink;
use crate::accumulate::stream_event::BlockType;
use crate::accumulate::stream_event::StreamEvent;
use crate::delta::ContentMetadata;
use crate::message::Content;

impl Accumulator {
    pub(super) fn write(
        &mut self,
        kind: ProseKind,
        text: &str,
        metadata: Option<&ContentMetadata>,
        out: &mut Sink<'_>,
    ) {
        if let Some(news) = metadata {
            self.note(kind, news);
        }
        if text.is_empty() {
            return;
        }
        let mut prose = match self.prose.take() {
            Some(open) if open.kind == kind => open,
            other => {
                self.prose = other;
                let block_index = self.begin(out);
                let metadata = self.next_metadata(kind).take();
                Prose::start(kind, block_index, metadata, out)
            }
        };
        prose.push(text, out);
        self.prose = Some(prose);
    }

    /// Says something about the open text or reasoning, or else about the next.
    pub(super) fn note(&mut self, kind: ProseKind, news: &ContentMetadata) {
        match &mut self.prose {
            Some(open) if open.kind == kind => open.note(news),
            _ => metadata::merge(self.next_metadata(kind), news),
        }
    }

    /// All text so far was reasoning, as became known afterwards.
    pub fn text_was_reasoning(&mut self) {
        self.end_prose(&mut Sink::nowhere());
        for content in self
            .places
            .iter_mut()
            .filter_map(|place| place.content.as_mut())
        {
            if let Content::Text { text } = content {
                let text = std::mem::take(text);
                *content = Content::Reasoning { text };
            }
        }
    }

    pub(super) fn end_prose(&mut self, out: &mut Sink<'_>) {
        if let Some(prose) = self.prose.take() {
            let (block_index, content, metadata) = prose.end(out);
            self.fill(block_index, content, metadata);
        }
    }

    fn next_metadata(&mut self, kind: ProseKind) -> &mut Option<ContentMetadata> {
        match kind {
            ProseKind::Text => &mut self.next_text_metadata,
            ProseKind::Reasoning => &mut self.next_reasoning_metadata,
        }
    }
}

/// Text or reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ProseKind {
    /// What the user reads.
    Text,
    /// What the model thinks.
    Reasoning,
}

/// The one block of text or reasoning that is open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Prose {
    /// Which of the two.
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
        out: &mut Sink<'_>,
    ) -> Self {
        let prose = Self {
            kind,
            block_index,
            text: String::new(),
            metadata,
        };
        out.push(|| {
            let metadata = prose.metadata.clone();
            match kind {
                ProseKind::Text => StreamEvent::ContentStart {
                    block_type: BlockType::Text,
                    block_index,
                    metadata,
                },
                ProseKind::Reasoning => StreamEvent::ReasoningStart {
                    block_index,
                    metadata,
                },
            }
        });
        prose
    }

    /// More of it.
    pub(crate) fn push(&mut self, text: &str, out: &mut Sink<'_>) {
        self.text.push_str(text);
        let (kind, block_index) = (self.kind, self.block_index);
        out.push(|| match kind {
            ProseKind::Text => StreamEvent::ContentDelta {
                block_type: BlockType::Text,
                block_index,
                delta: text.to_owned(),
            },
            ProseKind::Reasoning => StreamEvent::ReasoningDelta {
                block_index,
                delta: text.to_owned(),
            },
        });
    }

    /// More about it.
    pub(crate) fn note(&mut self, news: &ContentMetadata) {
        metadata::merge(&mut self.metadata, news);
    }

    /// Ends it: its place, its content, and what is known about that.
    pub(crate) fn end(self, out: &mut Sink<'_>) -> (usize, Content, Option<ContentMetadata>) {
        let Self {
            kind,
            block_index,
            text,
            metadata,
        } = self;
        let content = match kind {
            ProseKind::Text => {
                out.push(|| StreamEvent::ContentEnd {
                    block_type: BlockType::Text,
                    block_index,
                    metadata: metadata.clone(),
                });
                let content = Content::Text { text };
                out.push(|| StreamEvent::Content {
                    block_index,
                    content: content.clone(),
                    metadata: metadata.clone(),
                });
                content
            }
            ProseKind::Reasoning => {
                out.push(|| StreamEvent::ReasoningEnd {
                    block_index,
                    metadata: metadata.clone(),
                });
                out.push(|| StreamEvent::Reasoning {
                    block_index,
                    reasoning: text.clone(),
                    metadata: metadata.clone(),
                });
                Content::Reasoning { text }
            }
        };
        (block_index, content, metadata)
    }
}
