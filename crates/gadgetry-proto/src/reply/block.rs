//! A gadget block that is open: its header is complete, its body arrives.

use serde::{Deserialize, Serialize};

use crate::block::{BlockHeader, Body, BodyEnd, CallBlock, Partial};
use crate::call::TerminatedBy;
use crate::error::Span;
use crate::limits::Limits;
use crate::reply::emit::Emitter;
use crate::reply::format::Prepared;
use crate::reply::{ArgumentStart, ReplyEvent};

/// An open block. It keeps its memory for the next one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenBlock {
    /// Offset of the start marker in the reply.
    opener: u64,
    header: BlockHeader,
    body: Body,
}

impl OpenBlock {
    /// Begins a block whose header is `line`, and whose body begins at `base` of the reply.
    pub(super) fn begin(
        &mut self,
        opener: u64,
        line: &str,
        base: u64,
        auto_ids: &mut u64,
        out: &mut Emitter<'_>,
    ) {
        // Whitespace between two blocks, or before the first one, is not text.
        out.around.drop_white();
        self.opener = opener;
        self.header.read(line, auto_ids);
        self.body.begin(base, out.misses.room(out.limits));
        out.event(ReplyEvent::CallStart(&self.header));
    }

    /// Returns the size of a piece that is worth reading at once.
    pub(super) fn appetite(&self) -> usize {
        self.body.appetite()
    }

    /// Reads a piece of the body.
    pub(super) fn read(
        &mut self,
        piece: &str,
        format: &Prepared,
        out: &mut Emitter<'_>,
    ) -> Option<BodyEnd> {
        let (header, search) = (&self.header, &format.search);
        let origin = self.origin();
        let mut sink = |partial: Partial<'_>| out.event(argument(header, partial, origin));
        self.body.feed(piece, search, &format.limits, &mut sink)
    }

    /// Reads a small body that has arrived whole. See [`Body::take_whole`].
    pub(super) fn read_whole(
        &mut self,
        text: &str,
        format: &Prepared,
        out: &mut Emitter<'_>,
    ) -> Option<usize> {
        let (header, search) = (&self.header, &format.search);
        let len = self.body.take_whole(text, search, &format.limits)?;
        let origin = self.origin();
        for whole in self.body.whole_arguments() {
            out.event(argument(header, whole, origin));
        }
        Some(len)
    }

    /// Reads a piece in which nothing begins or ends, if the body is in the middle of a value. See
    /// [`crate::reply::shortcut`].
    #[inline]
    pub(super) fn read_plain<'a>(
        &'a mut self,
        piece: &'a str,
        limits: &Limits,
    ) -> Option<ReplyEvent<'a>> {
        let pointer = self.body.take_plain(piece, limits)?;
        Some(ReplyEvent::Argument {
            header: &self.header,
            pointer,
            delta: piece,
            complete: false,
            begins: None,
        })
    }

    fn origin(&self) -> BlockOrigin {
        BlockOrigin {
            opener: self.opener,
            body: self.body.base(),
        }
    }

    /// The reply has ended inside the body.
    pub(super) fn finish(&mut self, format: &Prepared, out: &mut Emitter<'_>) {
        let header = &self.header;
        let origin = self.origin();
        let mut sink = |partial: Partial<'_>| out.event(argument(header, partial, origin));
        self.body.finish(&format.search, &format.limits, &mut sink);
    }

    /// Emits the complete block, which ends at `end` of the reply.
    pub(super) fn end(
        &mut self,
        terminated_by: TerminatedBy,
        end: u64,
        format: &Prepared,
        out: &mut Emitter<'_>,
    ) {
        for diagnostic in self.body.diagnostics() {
            out.diagnostic(diagnostic);
        }
        out.event(ReplyEvent::Call(CallBlock {
            header: &self.header,
            body: &self.body,
            search: &format.search,
            limits: &format.limits,
            terminated_by,
            span: Span {
                start: self.opener,
                end,
            },
        }));
    }
}

/// Offsets in the reply.
#[derive(Clone, Copy)]
struct BlockOrigin {
    opener: u64,
    body: u64,
}

fn argument<'a>(
    header: &'a BlockHeader,
    partial: Partial<'a>,
    origin: BlockOrigin,
) -> ReplyEvent<'a> {
    ReplyEvent::Argument {
        header,
        pointer: partial.pointer,
        delta: partial.delta,
        complete: partial.complete,
        begins: partial.head.map(|head| ArgumentStart {
            head,
            opener: origin.opener,
            end: origin.body + head.len() as u64,
        }),
    }
}
