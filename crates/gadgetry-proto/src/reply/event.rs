//! Events of the scanner.

use crate::block::BlockHeader;
use crate::block::CallBlock;
use crate::error::Diagnostic;
use crate::id::BlockId;
use crate::message::Attributes;
use crate::piece::EndReason;

/// One thing in a reply. It borrows from the chunk or the scanner; take what you need before returning.
#[derive(Clone, Debug)]
pub enum ReplyEvent<'a> {
    /// Visible text, never empty.
    Text(&'a str),
    /// The header of a gadget block is complete.
    CallStart(&'a BlockHeader),
    /// More text of an argument. The deltas of an argument add up to its value; the last one is `complete`.
    Argument {
        /// The call it belongs to.
        header: &'a BlockHeader,
        /// The pointer of the value.
        pointer: &'a str,
        /// More of the value; may be empty if `complete`.
        delta: &'a str,
        /// Whether the value is now whole.
        complete: bool,
        /// The beginning of the argument, with the first part of its value.
        begins: Option<ArgumentStart<'a>>,
    },
    /// A gadget block is complete.
    Call(CallBlock<'a>),
    /// A tag opened.
    TagStart {
        /// The block.
        block: BlockId,
        /// The name of the tag.
        tag: &'a str,
        /// The attributes of the tag.
        attributes: &'a Attributes,
    },
    /// More content of the open tag, never empty.
    TagDelta {
        /// The block.
        block: BlockId,
        /// The name of the tag.
        tag: &'a str,
        /// More content.
        delta: &'a str,
    },
    /// The open tag ended.
    TagEnd {
        /// The block.
        block: BlockId,
        /// The name of the tag.
        tag: &'a str,
        /// The reason it ended.
        reason: EndReason,
    },
    /// The whole of the tag that just ended.
    Tag {
        /// The block.
        block: BlockId,
        /// The name of the tag.
        tag: &'a str,
        /// Everything between opening and closing tag.
        content: &'a str,
        /// The attributes of the tag.
        attributes: &'a Attributes,
        /// Whether the tag closed itself.
        self_closing: bool,
        /// The reason it ended.
        reason: EndReason,
    },
    /// A diagnostic of the reply.
    Diagnostic(Diagnostic),
}

/// The place where an argument begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgumentStart<'a> {
    /// The body of the block up to the value.
    pub head: &'a str,
    /// Offset of the start marker of the block in the reply.
    pub opener: u64,
    /// Offset of the value in the reply.
    pub end: u64,
}
