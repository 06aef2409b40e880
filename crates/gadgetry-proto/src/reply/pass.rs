//! The transitions of the scanner: what a mode finds becomes the next mode.

use std::mem;

use crate::block::{LinePrefix, Marker};
use crate::call::TerminatedBy;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::id::BlockId;
use crate::limits::{Limit, LimitExceeded};
use crate::message::Attributes;
use crate::piece::EndReason;
use crate::reply::block::OpenBlock;
use crate::reply::emit::{Emitter, Segment};
use crate::reply::format::Prepared;
use crate::reply::header::{HeaderLine, HeaderStep};
use crate::reply::mode::{Mode, Spare};
use crate::reply::opening::{OpeningStep, OpeningTag};
use crate::reply::prose::{Ahead, OpenerKind, Prose, Stretch};
use crate::reply::tag::OpenTag;
use crate::tags::{ContentEnd, NameIndex, TagKind};

/// One pass over a piece of the reply: the parts of the scanner but its mode, borrowed one by one.
///
/// Each step takes a mode and gives the next one, so a mode that has ended cannot be used any more.
pub(super) struct Pass<'a> {
    pub(super) format: &'a Prepared,
    /// Bytes of the reply that were pushed, this piece included.
    pub(super) end: u64,
    pub(super) auto_ids: &'a mut u64,
    pub(super) blocks: &'a mut u32,
    pub(super) spare: &'a mut Spare,
    pub(super) out: Emitter<'a>,
}

/// A text while it is read; it begins at `base` of the reply.
struct Text<'a> {
    whole: &'a str,
    at: usize,
    base: u64,
    ahead: Ahead,
}

impl<'a> Text<'a> {
    fn rest(&self) -> &'a str {
        &self.whole[self.at..]
    }

    /// At most `len` bytes of the rest, cut between characters; they are read.
    fn take(&mut self, len: usize) -> &'a str {
        let rest = self.rest();
        let piece = &rest[..rest.floor_char_boundary(len)];
        self.at += piece.len();
        piece
    }

    /// Where reading is, as an offset in the reply.
    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }
}

impl Pass<'_> {
    /// Reads the whole of a text.
    pub(super) fn run(&mut self, mut mode: Mode, text: &str, base: u64) -> Mode {
        let mut text = Text {
            whole: text,
            at: 0,
            base,
            ahead: Ahead::default(),
        };
        while text.at < text.whole.len() {
            mode = match mode {
                Mode::Prose(prose) if prose.held.is_empty() => self.prose(prose, &mut text, false),
                Mode::Prose(prose) => self.rejoin(prose, &mut text),
                Mode::Header(header) => self.header(header, &mut text),
                Mode::Body(block) => self.body(block, &mut text),
                Mode::Opening(opening) => self.opening(opening, &mut text),
                Mode::Content(tag) => self.content(tag, &mut text),
            };
        }
        mode
    }

    /// No more text comes that could make an opener of what is held. An open block or tag stays open.
    pub(super) fn flush(&mut self, mut mode: Mode) -> Mode {
        loop {
            mode = match mode {
                Mode::Prose(prose) if !prose.held.is_empty() => self.read_held(prose),
                Mode::Prose(mut prose) => {
                    prose.settle(self.format, &mut self.out);
                    return Mode::Prose(prose);
                }
                Mode::Header(header) => {
                    let exceeded = header.passed(self.format);
                    self.give_back_header(&header, exceeded)
                }
                Mode::Opening(opening) => {
                    let exceeded = opening.passed(self.format);
                    self.give_back_opening(&opening, exceeded)
                }
                Mode::Body(_) | Mode::Content(_) => return mode,
            };
        }
    }

    /// The reply ends, and everything in it.
    pub(super) fn finish(&mut self, mut mode: Mode) -> Prose {
        loop {
            mode = match self.flush(mode) {
                Mode::Prose(prose) => return prose,
                Mode::Body(mut block) => {
                    block.finish(self.format, &mut self.out);
                    Mode::Prose(self.end_block(block, TerminatedBy::EndOfStream, self.end))
                }
                Mode::Content(mut tag) => {
                    if tag.finish(self.format, &mut self.out) {
                        Mode::Prose(self.end_tag(*tag, EndReason::EndOfStream))
                    } else {
                        self.cut_tag(*tag, self.end)
                    }
                }
                // A flush leaves none of these.
                mode @ (Mode::Header(_) | Mode::Opening(_)) => mode,
            };
        }
    }

    // Prose.

    fn prose(&mut self, mut prose: Prose, text: &mut Text<'_>, last: bool) -> Mode {
        let stretch = Stretch {
            text: text.whole,
            from: text.at,
            base: text.base,
            last,
        };
        let found = prose.read(stretch, &mut text.ahead, self.format, &mut self.out);
        let Some(opener) = found else {
            text.at = text.whole.len();
            return Mode::Prose(prose);
        };
        text.at = opener.end;
        let at = text.base + opener.at as u64;
        match opener.kind {
            OpenerKind::Block => Mode::Header(HeaderLine::with(at, prose.held)),
            OpenerKind::Tag(name) => {
                Mode::Opening(OpeningTag::with(at, name, prose.held, self.format))
            }
        }
    }

    /// Reads held text together with what follows it.
    fn rejoin(&mut self, prose: Prose, text: &mut Text<'_>) -> Mode {
        // The held text is shorter than an opener, so a little more decides about it. What follows is read in place.
        const ENOUGH: usize = 64;
        let Prose { held, suspects } = prose;
        let offset = text.offset() - held.len() as u64;
        let mut joined = held;
        joined.push_str(text.take(ENOUGH));
        let prose = Prose {
            held: mem::take(&mut self.spare.text),
            suspects,
        };
        let mode = self.run(Mode::Prose(prose), &joined, offset);
        joined.clear();
        self.spare.text = joined;
        mode
    }

    /// No more text comes: what is held is read as it is.
    fn read_held(&mut self, mut prose: Prose) -> Mode {
        let held = mem::take(&mut prose.held);
        let mut text = Text {
            base: self.end - held.len() as u64,
            whole: &held,
            at: 0,
            ahead: Ahead::default(),
        };
        let mode = self.prose(prose, &mut text, true);
        self.run(mode, text.rest(), text.offset())
    }

    // Blocks.

    fn header(&mut self, mut header: HeaderLine, text: &mut Text<'_>) -> Mode {
        match header.read(text.rest(), self.format) {
            HeaderStep::More { read } => {
                text.at += read;
                Mode::Header(header)
            }
            HeaderStep::Whole { read, len, closed } => {
                text.at += read;
                let base = text.offset();
                let mut block = self.spare.block.take().unwrap_or_default();
                let line = &header.text[..len];
                block.begin(header.opener, line, base, self.auto_ids, &mut self.out);
                self.spare.text = header.text;
                if closed {
                    Mode::Prose(self.end_block(block, TerminatedBy::EndMarker, base))
                } else {
                    Mode::Body(block)
                }
            }
            HeaderStep::TooLong { read } => {
                text.at += read;
                let cap = HeaderLine::cap(self.format);
                self.give_back_header(&header, Some(cap))
            }
        }
    }

    /// What was taken for a start marker and a header is text.
    fn give_back_header(&mut self, header: &HeaderLine, exceeded: Option<LimitExceeded>) -> Mode {
        let marker = self.format.search.text(Marker::Start);
        let span = Span {
            start: header.opener,
            end: header.opener + marker.len() as u64,
        };
        if let Some(exceeded) = exceeded {
            self.out.limit(&exceeded, span);
        } else {
            self.out.begin_text();
            let message = format!(
                "The reply ended inside the line of {marker} and nothing was executed; write a line break after it"
            );
            let code = DiagnosticCode::CutHeader;
            self.out.diagnostic(Diagnostic {
                code,
                message,
                span,
            });
        }
        self.out.text(marker);
        self.out.around.ticked = marker.ends_with('`');
        self.read_again(&header.text, span.end)
    }

    /// Reads text again that was taken for a part of an opener.
    fn read_again(&mut self, text: &str, base: u64) -> Mode {
        self.out.around.line = LinePrefix::Other;
        self.run(Mode::default(), text, base)
    }

    fn body(&mut self, mut block: Box<OpenBlock>, text: &mut Text<'_>) -> Mode {
        let piece = text.take(block.appetite());
        let Some(ended) = block.read(piece, self.format, &mut self.out) else {
            return Mode::Body(block);
        };
        text.at -= ended.unread;
        let end = text.offset();
        if ended.by != TerminatedBy::NextStart {
            return Mode::Prose(self.end_block(block, ended.by, end));
        }
        let opener = end - self.format.search.text(Marker::Start).len() as u64;
        let prose = self.end_block(block, ended.by, opener);
        Mode::Header(HeaderLine::with(opener, prose.held))
    }

    fn end_block(&mut self, mut block: Box<OpenBlock>, by: TerminatedBy, end: u64) -> Prose {
        block.end(by, end, self.format, &mut self.out);
        self.spare.block = Some(block);
        (self.out.around.segment, self.out.around.line) = (Segment::Blank, LinePrefix::Other);
        self.blank_prose()
    }

    /// Prose of which nothing was read.
    fn blank_prose(&mut self) -> Prose {
        Prose::with(mem::take(&mut self.spare.text))
    }

    // Tags.

    fn opening(&mut self, mut opening: OpeningTag, text: &mut Text<'_>) -> Mode {
        match opening.read(text.rest(), self.format) {
            OpeningStep::More => {
                text.at = text.whole.len();
                Mode::Opening(opening)
            }
            OpeningStep::Open { read, self_closing } => {
                text.at += read;
                let name = opening.name;
                if self.format.names.kind(name) == TagKind::StrayEnd {
                    return self.stray_end(&opening, text.offset());
                }
                let attributes = opening.attributes(self.format);
                self.spare.text = opening.text;
                let tag = self.open_tag(name, attributes);
                if self_closing {
                    Mode::Prose(self.end_tag(tag, EndReason::SelfClosing))
                } else {
                    Mode::Content(Box::new(tag))
                }
            }
            OpeningStep::Text { read, exceeded } => {
                text.at += read;
                self.give_back_opening(&opening, exceeded)
            }
        }
    }

    pub(super) fn open_tag(&mut self, name: NameIndex, attributes: Attributes) -> OpenTag {
        if self.format.names.kind(name) == TagKind::Custom {
            self.out.begin_text();
        } else if self.out.around.segment != Segment::Text {
            self.out.begin_quiet();
        }
        *self.blocks += 1;
        let mut content = mem::take(&mut self.spare.content);
        content.begin();
        let tag = OpenTag {
            name,
            block: BlockId(*self.blocks),
            attributes,
            content,
        };
        tag.start(self.format, &mut self.out);
        tag
    }

    /// The closing tag that ends at `end` closes nothing.
    fn stray_end(&mut self, opening: &OpeningTag, end: u64) -> Mode {
        let name = self.format.names.text(opening.name);
        let message = format!(
            "<{name}> without an opening tag: the text before it was taken as reasoning; if the replies of this model \
             begin inside the tag, set reasoning_open"
        );
        self.out.diagnostic(Diagnostic {
            code: DiagnosticCode::StrayReasoningEnd,
            message,
            span: Span {
                start: opening.opener,
                end,
            },
        });
        self.out.begin_quiet();
        self.out.around.line = LinePrefix::Blank(0);
        Mode::Prose(self.blank_prose())
    }

    /// What was taken for a tag is text.
    fn give_back_opening(&mut self, opening: &OpeningTag, exceeded: Option<LimitExceeded>) -> Mode {
        let start = opening.opener;
        let end = start + 1;
        if let Some(exceeded) = exceeded {
            self.out.limit(&exceeded, Span { start, end });
        }
        self.out.text("<");
        self.read_again(&opening.text[1..], end)
    }

    fn content(&mut self, mut tag: Box<OpenTag>, text: &mut Text<'_>) -> Mode {
        let piece = text.take(tag.appetite());
        match tag.read(piece, self.format, &mut self.out) {
            None => Mode::Content(tag),
            Some(ContentEnd::Closed { unread }) => {
                text.at -= unread;
                Mode::Prose(self.end_tag(*tag, EndReason::Closed))
            }
            Some(ContentEnd::Limit) => self.cut_tag(*tag, text.offset()),
        }
    }

    /// The content that was read up to `end` passed its cap; what follows the cap is prose.
    fn cut_tag(&mut self, mut tag: OpenTag, end: u64) -> Mode {
        let excess = tag.content.take_excess(&self.format.limits);
        let cut = end - excess.len() as u64;
        let exceeded = LimitExceeded {
            what: Limit::TagContent,
            limit: self.format.limits.tag_content,
        };
        let span = Span {
            start: cut,
            end: cut,
        };
        self.out.limit(&exceeded, span);
        let content = tag.content.text().as_bytes();
        let line = LinePrefix::Other.after(content, content.len(), self.format.limits.indent);
        let prose = self.end_tag(tag, EndReason::Limit);
        self.out.around.line = line;
        self.run(Mode::Prose(prose), &excess, cut)
    }

    fn end_tag(&mut self, tag: OpenTag, reason: EndReason) -> Prose {
        tag.end(reason, self.format, &mut self.out);
        // Reasoning changes nothing about the prose around it.
        if self.format.names.kind(tag.name) == TagKind::Custom {
            self.out.around.segment = Segment::Text;
            self.out.around.line = LinePrefix::Other;
        }
        self.spare.content = tag.content;
        self.blank_prose()
    }
}
