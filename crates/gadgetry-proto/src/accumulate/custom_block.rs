//! A custom block: announced, streamed, ended, and then complete.

use serde::{Deserialize, Serialize};

use crate::accumulate::Accumulator;
use crate::accumulate::sink::Sink;
use crate::accumulate::stream_event::StreamEvent;
use crate::id::BlockId;
use crate::message::Content;
use crate::message::CustomContentBlock;
use crate::piece::{BlockDelta, BlockEnd, BlockStart, EndReason};

impl Accumulator {
    pub(super) fn start_custom_block(&mut self, start: &BlockStart, out: &mut Sink<'_>) {
        if self.custom_blocks.contains_key(&start.block_id) {
            return;
        }
        let block_index = self.begin(out);
        let open = OpenCustomBlock {
            block_index,
            tag: start.tag.clone(),
            ended: false,
        };
        self.custom_blocks.insert(start.block_id, open);
        out.push(|| StreamEvent::CustomBlockStart {
            block_index,
            start: start.clone(),
        });
    }

    pub(super) fn write_custom_block(&mut self, more: &BlockDelta, out: &mut Sink<'_>) {
        if let Some(open) = self.custom_blocks.get(&more.block_id)
            && !open.ended
            && !more.delta.is_empty()
        {
            out.push(|| StreamEvent::CustomBlockDelta {
                block_index: open.block_index,
                more: BlockDelta::new(more.block_id, &open.tag, &more.delta),
            });
        }
    }

    pub(super) fn end_custom_block(
        &mut self,
        block_id: BlockId,
        reason: EndReason,
        out: &mut Sink<'_>,
    ) {
        if let Some(open) = self.custom_blocks.get_mut(&block_id)
            && !open.ended
        {
            open.ended = true;
            out.push(|| StreamEvent::CustomBlockEnd {
                block_index: open.block_index,
                end: BlockEnd::new(block_id, &open.tag, reason),
            });
        }
    }

    /// A block that was never announced begins here, and reports only that it is complete.
    pub(super) fn complete_custom_block(&mut self, block: &CustomContentBlock, out: &mut Sink<'_>) {
        let reason = if block.self_closing {
            EndReason::SelfClosing
        } else {
            EndReason::Closed
        };
        self.end_custom_block(block.block_id, reason, out);
        let block_index = match self.custom_blocks.remove(&block.block_id) {
            Some(open) => open.block_index,
            None => self.begin(out),
        };
        out.push(|| StreamEvent::CustomBlock {
            block_index,
            block: block.clone(),
        });
        self.fill(block_index, Content::Custom(block.clone()), None);
    }

    /// Ends the custom blocks that never became complete, in the order in which they began.
    pub(super) fn end_custom_blocks(&mut self, out: &mut Sink<'_>) {
        let mut open: Vec<(usize, BlockId)> = self
            .custom_blocks
            .iter()
            .map(|(id, open)| (open.block_index, *id))
            .collect();
        open.sort_unstable();
        for (_, id) in open {
            self.end_custom_block(id, EndReason::EndOfStream, out);
        }
    }
}

/// A custom block that has begun and is not complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenCustomBlock {
    block_index: usize,
    tag: String,
    ended: bool,
}
