//! A custom block: announced, streamed, ended, and then complete.

use crate::accumulate::Accumulator;
use crate::accumulate::open::OpenCustomBlock;
use crate::id::BlockId;
use crate::message::Content;
use crate::message::CustomContentBlock;
use crate::piece::BlockStart;

impl Accumulator {
    pub(super) fn start_custom_block(&mut self, start: &BlockStart) {
        if self.custom_blocks.contains_key(&start.block_id) {
            return;
        }
        let block_index = self.begin();
        let open = OpenCustomBlock {
            block_index,
            tag: start.tag.clone(),
            ended: false,
        };
        self.custom_blocks.insert(start.block_id, open);
    }

    pub(super) fn end_custom_block(&mut self, block_id: BlockId) {
        if let Some(open) = self.custom_blocks.get_mut(&block_id) {
            open.ended = true;
        }
    }

    /// Takes a block that is complete. One that was never announced begins here.
    pub(super) fn complete_custom_block(&mut self, block: &CustomContentBlock) {
        let block_index = match self.custom_blocks.remove(&block.block_id) {
            Some(open) => open.block_index,
            None => self.begin(),
        };
        self.fill(block_index, Content::Custom(block.clone()), None);
    }
}
