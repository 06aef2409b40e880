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
/// Each step reads in the mode where it is, since most pieces change none, and gives the next mode if there is one.
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

    /// Reads at most `len` bytes of the rest, cut between characters.
    fn take(&mut self, len: usize) -> &'a str {
        let rest = self.rest();
        let piece = &rest[..rest.floor_char_boundary(len)];
        self.at += piece.len();
        piece
    }

    /// Returns the current position as an offset in the reply.
    fn offset(&self) -> u64 {
        self.base + self.at as u64
    }
}

impl Pass<'_> {
    /// Reads the whole of a text.
    pub(super) fn run(&mut self, mode: &mut Mode, text: &str, base: u64) {
        let mut text = Text {
            whole: text,
            at: 0,
            base,
            ahead: Ahead::default(),
        };
        while text.at < text.whole.len() {
            let next = match mode {
                Mode::Prose(prose) if prose.held.is_empty() => self.prose(prose, &mut text, false),
                Mode::Prose(prose) => {
                    let held = mem::replace(&mut prose.held, mem::take(&mut self.spare.text));
                    self.rejoin(mode, held, &mut text);
                    continue;
                }
                Mode::Header(header) => self.header(header, &mut text),
                Mode::Body(block) => self.body(block, &mut text),
                Mode::Opening(opening) => self.opening(opening, &mut text),
                Mode::Content(tag) => self.content(tag, &mut text),
            };
            if let Some(next) = next {
                self.leave(mode, next);
            }
        }
    }

    /// Replaces a mode that has ended. A block keeps its memory for the next one.
    fn leave(&mut self, mode: &mut Mode, next: Mode) {
        if let Mode::Body(block) = mem::replace(mode, next) {
            self.spare.block = Some(block);
        }
    }

    /// No more text comes that could make an opener of what is held. An open block or tag stays open.
    pub(super) fn flush(&mut self, mode: &mut Mode) {
        loop {
            let next = match mode {
                Mode::Prose(prose) if !prose.held.is_empty() => self.read_held(prose),
                Mode::Prose(prose) => return prose.finish_suspect(self.format, &mut self.out),
                Mode::Header(header) => {
                    let exceeded = header.passed(self.format);
                    self.give_back_header(header, exceeded)
                }
                Mode::Opening(opening) => {
                    let exceeded = opening.passed(self.format);
                    self.give_back_opening(opening, exceeded)
                }
                Mode::Body(_) | Mode::Content(_) => return,
            };
            *mode = next;
        }
    }

    /// The reply ends, and everything in it: what remains is prose.
    pub(super) fn finish(&mut self, mode: &mut Mode) {
        loop {
            self.flush(mode);
            let next = match mode {
                Mode::Body(block) => {
                    block.finish(self.format, &mut self.out);
                    self.end_block(block, TerminatedBy::EndOfStream, self.end)
                }
                Mode::Content(tag) => {
                    if tag.finish(self.format, &mut self.out) {
                        self.end_tag(tag, EndReason::EndOfStream)
                    } else {
                        self.cut_tag(tag, self.end)
                    }
                }
                // A flush leaves neither a header nor an opening tag.
                Mode::Prose(_) | Mode::Header(_) | Mode::Opening(_) => return,
            };
            self.leave(mode, next);
        }
    }

    // Prose.

    fn prose(&mut self, prose: &mut Prose, text: &mut Text<'_>, last: bool) -> Option<Mode> {
        if self.out.around.segment != Segment::Text && self.format.search.is_anywhere() {
            let next = self.small_blocks(text);
            if next.is_some() || text.at == text.whole.len() {
                return next;
            }
        }
        let stretch = Stretch {
            text: text.whole,
            from: text.at,
            base: text.base,
            last,
        };
        let found = prose.read(stretch, &mut text.ahead, self.format, &mut self.out);
        let Some(opener) = found else {
            text.at = text.whole.len();
            return None;
        };
        text.at = opener.end;
        let at = text.base + opener.at as u64;
        let held = mem::take(&mut prose.held);
        Some(match opener.kind {
            OpenerKind::Block => Mode::Header(HeaderLine::with(at, held)),
            OpenerKind::Tag(name) => Mode::Opening(OpeningTag::with(at, name, held, self.format)),
        })
    }

    /// The short way through small blocks, and whitespace between them.
    ///
    /// It does what the long way would do, or nothing: a block is read here only if its header and its body are whole and
    /// nothing about them is unusual.
    fn small_blocks(&mut self, text: &mut Text<'_>) -> Option<Mode> {
        let search = &self.format.search;
        loop {
            let rest = text.rest();
            let white = rest.bytes().take_while(u8::is_ascii_whitespace).count();
            if white > 0 {
                self.out.text(&rest[..white]);
                self.out.around.ticked = false;
                text.at += white;
            }
            let opener = text.offset();
            let line = rest[white..].strip_prefix(search.text(Marker::Start))?;
            let len = search.plain_line(line.as_bytes(), self.format.limits.header)?;
            self.out.around.ticked = false;
            text.at = text.whole.len() - line.len() + len + 1;
            let mut block = self.open_block(opener, &line[..len], text.offset());
            let Some(read) = block.read_whole(text.rest(), self.format, &mut self.out) else {
                return Some(Mode::Body(block));
            };
            text.at += read;
            self.emit_block(&mut block, TerminatedBy::EndMarker, text.offset());
            self.spare.block = Some(block);
        }
    }

    /// Reads text that prose held together with what follows it.
    fn rejoin(&mut self, mode: &mut Mode, mut held: String, text: &mut Text<'_>) {
        // The held text is shorter than an opener, so a little more decides about it. What follows is read in place.
        const ENOUGH: usize = 64;
        let offset = text.offset() - held.len() as u64;
        held.push_str(text.take(ENOUGH));
        self.run(mode, &held, offset);
        held.clear();
        self.spare.text = held;
    }

    /// No more text comes: what is held is read as it is.
    fn read_held(&mut self, prose: &mut Prose) -> Mode {
        let held = mem::take(&mut prose.held);
        let mut text = Text {
            base: self.end - held.len() as u64,
            whole: &held,
            at: 0,
            ahead: Ahead::default(),
        };
        let next = self.prose(prose, &mut text, true);
        let mut mode = next.unwrap_or_else(|| Mode::Prose(mem::take(prose)));
        self.run(&mut mode, text.rest(), text.offset());
        mode
    }

    // Blocks.

    fn header(&mut self, header: &mut HeaderLine, text: &mut Text<'_>) -> Option<Mode> {
        match header.read(text.rest(), self.format) {
            HeaderStep::More { read } => {
                text.at += read;
                None
            }
            HeaderStep::Whole { read, len, closed } => {
                text.at += read;
                let base = text.offset();
                let mut block = self.open_block(header.opener, &header.text[..len], base);
                self.spare.text = mem::take(&mut header.text);
                if closed {
                    let next = self.end_block(&mut block, TerminatedBy::EndMarker, base);
                    self.spare.block = Some(block);
                    Some(next)
                } else {
                    Some(Mode::Body(block))
                }
            }
            HeaderStep::TooLong { read } => {
                text.at += read;
                let cap = HeaderLine::cap(self.format);
                Some(self.give_back_header(header, Some(cap)))
            }
        }
    }

    /// Begins a block whose header is `line`, and whose body begins at `base` of the reply.
    fn open_block(&mut self, opener: u64, line: &str, base: u64) -> Box<OpenBlock> {
        let mut block = self.spare.block.take().unwrap_or_default();
        block.begin(opener, line, base, self.auto_ids, &mut self.out);
        block
    }

    /// Returns to prose: what was taken for a start marker and a header is text.
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
        let mut mode = Mode::default();
        self.run(&mut mode, text, base);
        mode
    }

    fn body(&mut self, block: &mut OpenBlock, text: &mut Text<'_>) -> Option<Mode> {
        let piece = text.take(block.appetite());
        let ended = block.read(piece, self.format, &mut self.out)?;
        text.at -= ended.unread;
        let end = text.offset();
        if ended.by != TerminatedBy::NextStart {
            return Some(self.end_block(block, ended.by, end));
        }
        let opener = end - self.format.search.text(Marker::Start).len() as u64;
        self.emit_block(block, ended.by, opener);
        let line = HeaderLine::with(opener, mem::take(&mut self.spare.text));
        Some(Mode::Header(line))
    }

    fn end_block(&mut self, block: &mut OpenBlock, by: TerminatedBy, end: u64) -> Mode {
        self.emit_block(block, by, end);
        self.blank_prose()
    }

    fn emit_block(&mut self, block: &mut OpenBlock, by: TerminatedBy, end: u64) {
        block.end(by, end, self.format, &mut self.out);
        (self.out.around.segment, self.out.around.line) = (Segment::Blank, LinePrefix::Other);
    }

    /// Prose of which nothing was read.
    fn blank_prose(&mut self) -> Mode {
        Mode::Prose(Prose::with(mem::take(&mut self.spare.text)))
    }

    // Tags.

    fn opening(&mut self, opening: &mut OpeningTag, text: &mut Text<'_>) -> Option<Mode> {
        match opening.read(text.rest(), self.format) {
            OpeningStep::More => {
                text.at = text.whole.len();
                None
            }
            OpeningStep::Open { read, self_closing } => {
                text.at += read;
                let name = opening.name;
                if self.format.names.kind(name) == TagKind::StrayEnd {
                    return Some(self.stray_end(opening, text.offset()));
                }
                let attributes = opening.attributes(self.format);
                self.spare.text = mem::take(&mut opening.text);
                let mut tag = self.open_tag(name, attributes);
                Some(if self_closing {
                    self.end_tag(&mut tag, EndReason::SelfClosing)
                } else {
                    Mode::Content(Box::new(tag))
                })
            }
            OpeningStep::Text { read, exceeded } => {
                text.at += read;
                Some(self.give_back_opening(opening, exceeded))
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
        self.blank_prose()
    }

    /// Returns to prose: what was taken for a tag is text.
    fn give_back_opening(&mut self, opening: &OpeningTag, exceeded: Option<LimitExceeded>) -> Mode {
        let start = opening.opener;
        let end = start + 1;
        if let Some(exceeded) = exceeded {
            self.out.limit(&exceeded, Span { start, end });
        }
        self.out.text("<");
        self.read_again(&opening.text[1..], end)
    }

    fn content(&mut self, tag: &mut OpenTag, text: &mut Text<'_>) -> Option<Mode> {
        let piece = text.take(tag.appetite());
        Some(match tag.read(piece, self.format, &mut self.out)? {
            ContentEnd::Closed { unread } => {
                text.at -= unread;
                self.end_tag(tag, EndReason::Closed)
            }
            ContentEnd::Limit => self.cut_tag(tag, text.offset()),
        })
    }

    /// The content that was read up to `end` passed its cap; what follows the cap is prose.
    fn cut_tag(&mut self, tag: &mut OpenTag, end: u64) -> Mode {
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
        let mut mode = self.end_tag(tag, EndReason::Limit);
        self.out.around.line = line;
        self.run(&mut mode, &excess, cut);
        mode
    }

    fn end_tag(&mut self, tag: &mut OpenTag, reason: EndReason) -> Mode {
        tag.end(reason, self.format, &mut self.out);
        // Reasoning changes nothing about the prose around it.
        if self.format.names.kind(tag.name) == TagKind::Custom {
            self.out.around.segment = Segment::Text;
            self.out.around.line = LinePrefix::Other;
        }
        self.spare.content = mem::take(&mut tag.content);
        self.blank_prose()
    }
}
