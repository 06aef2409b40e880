//! A tag that is open: its content arrives.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::id::BlockId;
use crate::message::Attributes;
use crate::piece::EndReason;
use crate::reply::ReplyEvent;
use crate::reply::emit::Emitter;
use crate::reply::format::Prepared;
use crate::tags::{ContentEnd, NameIndex, TagContent};

/// An open tag.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenTag {
    pub(super) name: NameIndex,
    pub(super) block: BlockId,
    pub(super) attributes: Attributes,
    pub(super) content: TagContent,
}

impl OpenTag {
    /// Emits that the tag has opened.
    pub(super) fn start(&self, format: &Prepared, out: &mut Emitter<'_>) {
        out.event(ReplyEvent::TagStart {
            block: self.block,
            tag: format.names.text(self.name),
            attributes: &self.attributes,
        });
    }

    /// Returns the size of a piece that is worth reading at once.
    pub(super) fn appetite(&self) -> usize {
        self.content.appetite()
    }

    /// Reads a piece of the content.
    pub(super) fn read(
        &mut self,
        piece: &str,
        format: &Prepared,
        out: &mut Emitter<'_>,
    ) -> Option<ContentEnd> {
        let (names, limits) = (&format.names, &format.limits);
        let (new, end) = self.content.feed(piece, self.name, names, limits);
        self.emit(new, format, out);
        end
    }

    /// Reads a piece in which no tag begins, if nothing is held. See [`crate::reply::shortcut`].
    #[inline]
    pub(super) fn read_plain<'a>(
        &mut self,
        piece: &'a str,
        format: &'a Prepared,
    ) -> Option<ReplyEvent<'a>> {
        let is_read = self.content.take_plain(piece, &format.limits);
        is_read.then(|| self.delta(piece, format))
    }

    /// The reply has ended inside the content. Returns whether that is within its cap.
    pub(super) fn finish(&mut self, format: &Prepared, out: &mut Emitter<'_>) -> bool {
        let (new, is_whole) = self.content.finish(&format.limits);
        self.emit(new, format, out);
        is_whole
    }

    /// Emits the complete tag.
    pub(super) fn end(&self, reason: EndReason, format: &Prepared, out: &mut Emitter<'_>) {
        let (block, tag) = (self.block, format.names.text(self.name));
        out.event(ReplyEvent::TagEnd { block, tag, reason });
        out.event(ReplyEvent::Tag {
            block,
            tag,
            content: self.content.text(),
            attributes: &self.attributes,
            self_closing: reason == EndReason::SelfClosing,
            reason,
        });
    }

    fn emit(&self, new: Range<usize>, format: &Prepared, out: &mut Emitter<'_>) {
        if !new.is_empty() {
            out.event(self.delta(&self.content.text()[new], format));
        }
    }

    fn delta<'a>(&self, delta: &'a str, format: &'a Prepared) -> ReplyEvent<'a> {
        ReplyEvent::TagDelta {
            block: self.block,
            tag: format.names.text(self.name),
            delta,
        }
    }
}
