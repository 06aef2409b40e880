//! Text and reasoning: the two kinds of blocks that have no end of their own.

use crate::accumulate::Accumulator;
use crate::accumulate::metadata;
use crate::accumulate::open::{Prose, ProseKind};
use crate::delta::ContentMetadata;
use crate::message::Content;

impl Accumulator {
    pub(super) fn write(
        &mut self,
        kind: ProseKind,
        text: &str,
        metadata: Option<&ContentMetadata>,
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
                let block_index = self.begin();
                let metadata = self.next_metadata(kind).take();
                Prose::start(kind, block_index, metadata)
            }
        };
        prose.push(text);
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
    pub(crate) fn text_was_reasoning(&mut self) {
        self.end_prose();
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

    pub(super) fn end_prose(&mut self) {
        if let Some(prose) = self.prose.take() {
            let (block_index, content, metadata) = prose.end();
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
