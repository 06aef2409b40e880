//! Tags in a reply: from the `<` to the closing tag, or back to prose.

use crate::block::LinePrefix;
use crate::error::{Diagnostic, DiagnosticCode, Span};
use crate::id::BlockId;
use crate::limits::{Limit, LimitExceeded};
use crate::piece::EndReason;
use crate::reply::Event;
use crate::reply::Scanner;
use crate::reply::scanner::Mode;
use crate::tags::ContentEnd;
use crate::tags::NameIndex;
use crate::tags::OpeningState;
use crate::tags::Step;
use crate::tags::TagKind;
use crate::tags::attributes;

impl Scanner {
    /// `<` and a name at `opener` were read.
    pub(super) fn begin_opening(&mut self, name: NameIndex, opener: u64) {
        self.state.opener = opener;
        self.state.buffer.clear();
        self.state.buffer.push('<');
        self.state.buffer.push_str(self.format.names.text(name));
        self.state.name = Some(name);
        self.state.opening = OpeningState::default();
        self.state.mode = Mode::Opening;
    }

    pub(super) fn opening<S: FnMut(Event<'_>)>(
        &mut self,
        text: &str,
        at: usize,
        events: &mut S,
    ) -> usize {
        let Some(name) = self.state.name else {
            return text.len();
        };
        let name_end = 1 + self.format.names.len_of(name);
        let room =
            (self.format.limits.attributes + name_end).saturating_sub(self.state.buffer.len());
        for (index, byte) in text.as_bytes()[at..].iter().enumerate() {
            if index >= room {
                // The cap may fall inside a character: what is given back ends at its start.
                let end = text.floor_char_boundary(at + index);
                let limit = self.format.limits.attributes;
                let exceeded = LimitExceeded {
                    what: Limit::Attributes,
                    limit,
                };
                self.state.buffer.push_str(&text[at..end]);
                self.give_back_opening(Some(exceeded), events);
                return end;
            }
            match self.state.opening.step(*byte) {
                Step::On(next) => self.state.opening = next,
                Step::Open { self_closing } => {
                    let end = at + index;
                    self.state.buffer.push_str(&text[at..end]);
                    self.state.attributes = attributes(&self.state.buffer[name_end..]);
                    self.open_tag(name, self_closing, events);
                    return end + 1;
                }
                Step::Fail => {
                    let end = at + index;
                    self.state.buffer.push_str(&text[at..end]);
                    self.give_back_opening(None, events);
                    return end;
                }
            }
        }
        self.state.buffer.push_str(&text[at..]);
        text.len()
    }

    /// The cap that an opening tag without an end reached.
    pub(super) fn opening_limit(&self) -> Option<LimitExceeded> {
        let name = self
            .state
            .name
            .map_or(0, |name| 1 + self.format.names.len_of(name));
        let limit = self.format.limits.attributes;
        let exceeded = LimitExceeded {
            what: Limit::Attributes,
            limit,
        };
        (self.state.buffer.len() - name >= limit).then_some(exceeded)
    }

    pub(super) fn open_tag<S: FnMut(Event<'_>)>(
        &mut self,
        name: NameIndex,
        self_closing: bool,
        events: &mut S,
    ) {
        match self.format.names.kind(name) {
            TagKind::Custom => self.release_white(events),
            TagKind::Reasoning if self.state.leading => self.begin_quiet(),
            TagKind::Reasoning => {}
            TagKind::StrayEnd => return self.tell_stray_end(name, events),
        }
        let state = &mut self.state;
        state.blocks += 1;
        state.content.begin();
        state.mode = Mode::Content;
        let (block, tag) = (BlockId(state.blocks), self.format.names.text(name));
        events(Event::TagStart {
            block,
            tag,
            attributes: &state.attributes,
        });
        if self_closing {
            self.end_tag(EndReason::SelfClosing, events);
        }
    }

    /// White space from here on is no text, until there is text.
    fn begin_quiet(&mut self) {
        self.state.white.clear();
        (self.state.leading, self.state.quiet) = (true, true);
    }

    /// The closing tag that was read closes nothing.
    fn tell_stray_end<S: FnMut(Event<'_>)>(&mut self, name: NameIndex, events: &mut S) {
        let start = self.state.opener;
        let end = start + self.state.buffer.len() as u64 + 1;
        let name = self.format.names.text(name);
        let message = format!(
            "<{name}> without an opening tag: the text before it was taken as reasoning; if the replies of this model \
             begin inside the tag, set reasoning_open"
        );
        let diagnostic = Diagnostic {
            code: DiagnosticCode::StrayReasoningEnd,
            message,
            span: Span { start, end },
        };
        let told = self.state.misses.admit(diagnostic, &self.format.limits);
        if let Some(diagnostic) = told {
            events(Event::Diagnostic(diagnostic));
        }
        self.begin_quiet();
        (self.state.mode, self.state.line) = (Mode::Prose, LinePrefix::Blank(0));
    }

    /// What was taken for a tag is text.
    pub(super) fn give_back_opening<S: FnMut(Event<'_>)>(
        &mut self,
        exceeded: Option<LimitExceeded>,
        events: &mut S,
    ) {
        self.state.mode = Mode::Prose;
        let opener = self.state.opener;
        if let Some(exceeded) = exceeded {
            self.tell_limit(
                &exceeded,
                Span {
                    start: opener,
                    end: opener + 1,
                },
                events,
            );
        }
        self.hand_out("<", events);
        self.state.line = LinePrefix::Other;
        let buffer = std::mem::take(&mut self.state.buffer);
        self.run(&buffer[1..], opener + 1, events);
    }

    pub(super) fn content<S: FnMut(Event<'_>)>(
        &mut self,
        text: &str,
        at: usize,
        base: u64,
        events: &mut S,
    ) -> usize {
        let Some(name) = self.state.name else {
            return text.len();
        };
        let state = &mut self.state;
        let read = text.floor_char_boundary(at + state.content.appetite());
        let (block, tag) = (BlockId(state.blocks), self.format.names.text(name));
        let piece = &text[at..read];
        let (names, limits) = (&self.format.names, &self.format.limits);
        let end = state.content.feed(piece, name, names, limits, |delta| {
            events(Event::TagDelta { block, tag, delta });
        });
        match end {
            None => read,
            Some(ContentEnd::Closed { unread }) => {
                self.end_tag(EndReason::Closed, events);
                read - unread
            }
            Some(ContentEnd::Limit) => {
                self.cut_content(base + read as u64, events);
                read
            }
        }
    }

    /// The content that was read up to `end` has no end within its cap; what is behind that is prose.
    pub(super) fn cut_content<S: FnMut(Event<'_>)>(&mut self, end: u64, events: &mut S) {
        let indent = self.format.limits.indent;
        let excess = self.state.content.take_excess(&self.format.limits);
        let cut = end - excess.len() as u64;
        let exceeded = LimitExceeded {
            what: Limit::TagContent,
            limit: self.format.limits.tag_content,
        };
        self.tell_limit(
            &exceeded,
            Span {
                start: cut,
                end: cut,
            },
            events,
        );
        self.end_tag(EndReason::Limit, events);
        let content = self.state.content.text().as_bytes();
        self.state.line = LinePrefix::Other.behind(content, content.len(), indent);
        self.run(&excess, cut, events);
    }

    pub(super) fn finish_content<S: FnMut(Event<'_>)>(&mut self, events: &mut S) {
        let Some(name) = self.state.name else { return };
        let (block, tag) = (BlockId(self.state.blocks), self.format.names.text(name));
        let is_whole = self.state.content.finish(&self.format.limits, |delta| {
            events(Event::TagDelta { block, tag, delta });
        });
        if is_whole {
            self.end_tag(EndReason::EndOfStream, events);
        } else {
            self.cut_content(self.state.read, events);
        }
    }

    pub(super) fn end_tag<S: FnMut(Event<'_>)>(&mut self, reason: EndReason, events: &mut S) {
        let Some(name) = self.state.name else { return };
        let state = &mut self.state;
        let (block, tag) = (BlockId(state.blocks), self.format.names.text(name));
        events(Event::TagEnd { block, tag, reason });
        events(Event::Tag {
            block,
            tag,
            content: state.content.text(),
            attributes: &state.attributes,
            self_closing: reason == EndReason::SelfClosing,
            reason,
        });
        state.mode = Mode::Prose;
        // Reasoning changes nothing about the prose around it.
        if self.format.names.kind(name) == TagKind::Custom {
            (state.leading, state.line) = (false, LinePrefix::Other);
        }
    }
}
