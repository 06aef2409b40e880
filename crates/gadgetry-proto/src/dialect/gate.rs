//! Calls in other forms than blocks, found while the text streams.
//!
//! The text of a reply streams through this gate, which keeps back what may be a call until it is decided: at its end
//! [`find`](super::find) reads it, and what is not a call of a known gadget is text after all.
//!
//! | the text | is kept back until |
//! |---|---|
//! | a marker that begins a call | the marker that ends it, and the next character, if prose precedes the call |
//! | `<\|python_tag\|>`, `[TOOL_CALLS]` | the end of the reply |
//! | `{` at the start of a line, if the first key can be that of a call | the object is closed, and the same |
//! | ```` ``` ```` at the start of a line, if what follows is such an object, or `tool_code` | the fence is closed, and the same |
//! | the name of a gadget as a tag or a function at the start of a line, if these dialects are on | its end, and the same |
//!
//! So an answer that has JSON in it streams as it comes, but for objects that begin like a call.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::block::Anchoring;
use crate::dialect::forms::{Channel, OPENERS, OpenForm, Recognized};
use crate::dialect::quotes::Surroundings;
use crate::dialect::template::{HARMONY, HARMONY_ENDS, HARMONY_MESSAGE, Header};
use crate::dialect::wrappers::{begins_wrapper, split_wrappers, unwrapped};
use crate::dialect::{DialectCall, Dialects, TextContext, find_in};
use crate::limits::Limits;
use crate::schema::Registry;

/// A piece that comes out of the gate.
#[derive(Clone, Debug, PartialEq)]
pub enum Gated {
    /// Text that is not a call.
    Text(String),
    /// The reasoning of a model that writes it in a channel.
    Reasoning(String),
    /// A call of a known gadget, and the text of its form, which several calls share. It may have been cut off:
    /// [`DialectCall::is_whole`].
    Call(DialectCall, Arc<str>),
    /// The wrapper of the next call, often empty. It is text for a caller to whom that call is text.
    Opening(String),
    /// The end of the wrapper around the call before, which is text if that call is.
    Closing(String),
    /// The beginning of a call that the end of the reply has cut off before its name.
    Cut(String),
}

/// The dialects, gadgets and limits that a gate goes by.
#[derive(Clone, Copy, Debug)]
pub struct GateRules<'a> {
    /// The dialects whose calls it takes out of the text. Without any, all text passes at once.
    pub dialects: &'a Dialects,
    /// The gadgets that can be called.
    pub registry: &'a Registry,
    /// Caps on what is kept back.
    pub limits: &'a Limits,
    /// The places where a call may begin.
    pub anchoring: Anchoring,
}

/// The gate between the text of a reply and those who read it. See the [module](super).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Text from the beginning of a possible form on.
    pub(super) kept: String,
    /// Offset of the form that is read; forms that nothing marks precede it.
    pub(super) base: usize,
    /// The end that the form waits for; `None` while nothing is kept.
    form: Option<OpenForm>,
    /// The text that was released.
    pub(super) around: Option<Surroundings>,
    /// The channel of a message of Harmony.
    pub(super) channel: Channel,
}

/// Bytes of the header of a message of Harmony.
const HEADER: usize = 256;
/// Bytes of text that are read at once.
const PIECE: usize = 4 << 10;
/// Maximum number of times a form is read whose end may be a part of a value.
const ATTEMPTS: u32 = 100;
impl Gate {
    /// Takes more text.
    pub fn push(&mut self, text: &str, rules: &GateRules<'_>, out: &mut Vec<Gated>) {
        if rules.dialects.is_empty() || rules.registry.is_empty() || text.is_empty() {
            push_text(out, text);
            return;
        }
        // Each form that ends copies what follows it, so a long text is read piece by piece.
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.ceil_char_boundary(PIECE.min(rest.len())));
            rest = after;
            self.kept.push_str(piece);
            while self.step(rules, out) {}
        }
    }

    /// The reply is over, perhaps [cut off](Self::cut_off): decides about what is kept, and is ready for the next reply.
    pub fn finish(&mut self, is_cut_off: bool, rules: &GateRules<'_>, out: &mut Vec<Gated>) {
        if is_cut_off {
            self.cut_off(rules, out);
        }
        self.flush(rules, out);
        (self.around, self.channel) = (None, Channel::None);
    }

    /// Something else than text follows, on a line of its own: decides about what is kept.
    pub fn flush(&mut self, rules: &GateRules<'_>, out: &mut Vec<Gated>) {
        if !self.kept.is_empty() {
            let end = self.kept.len();
            self.read(end, true, false, rules, out);
        }
        if let Some(around) = self.around.as_mut().filter(|it| !it.is_line_blank()) {
            around.push("\n");
        }
    }

    /// The reply was cut off, and [`flush`](Self::flush) follows. A form that is whole is text if what would have
    /// followed it decides whether it is a call: `I could send <tool_call>…</tool_call>, but that would be wrong.`
    pub fn cut_off(&mut self, rules: &GateRules<'_>, out: &mut Vec<Gated>) {
        let is_whole = match self.form {
            Some(OpenForm::Ended { .. }) => true,
            Some(OpenForm::Rest) => !self.is_cut(self.kept.len(), rules),
            Some(
                OpenForm::Unknown { .. }
                | OpenForm::Header
                | OpenForm::Until { .. }
                | OpenForm::Object { .. },
            )
            | None => false,
        };
        let is_marked = self.is_marked(rules);
        let is_call = self.around().before().is_call(is_marked, "", false);
        if is_whole && is_call != Some(true) {
            let text = std::mem::take(&mut self.kept);
            (self.form, self.base) = (None, 0);
            self.release(&text, out);
        }
    }

    fn around(&mut self) -> &mut Surroundings {
        self.around.get_or_insert_default()
    }

    /// Decides about the beginning of what is kept. `false` if it needs more text.
    fn step(&mut self, rules: &GateRules<'_>, out: &mut Vec<Gated>) -> bool {
        match self.form.clone() {
            None => {
                let Some(at) = self.suspect(rules) else {
                    let text = std::mem::take(&mut self.kept);
                    self.release(&text, out);
                    return false;
                };
                let at_line_start = self.is_line_start(at);
                let rest = self.kept.split_off(at);
                let text = std::mem::replace(&mut self.kept, rest);
                self.release(&text, out);
                if self.channel != Channel::Reasoning && self.around().is_quoted() {
                    return self.release_first(out);
                }
                (self.form, self.base) = (Some(OpenForm::Unknown { at_line_start }), 0);
                true
            }
            Some(OpenForm::Unknown { at_line_start }) => {
                match self.recognized(at_line_start, rules) {
                    Recognized::Form(form) => {
                        self.form = Some(form);
                        true
                    }
                    Recognized::Token(length) if self.base == 0 => {
                        let rest = self.kept.split_off(length);
                        let token = std::mem::replace(&mut self.kept, rest);
                        out.push(Gated::Closing(token));
                        (self.form, self.channel) = (None, Channel::Visible);
                        true
                    }
                    Recognized::Text | Recognized::Token(_) if self.base > 0 => {
                        let end = self.kept[..self.base].trim_end().len();
                        self.read(end, false, false, rules, out);
                        true
                    }
                    Recognized::Text | Recognized::Token(_) => self.release_first(out),
                    Recognized::NotYet => false,
                }
            }
            Some(OpenForm::Header) => self.header(out),
            Some(OpenForm::Until {
                end,
                from,
                attempts,
            }) => self.until(end, from, attempts, rules, out),
            Some(OpenForm::Rest) => self.overflows(rules, out),
            Some(OpenForm::Object { at, depth, in_text }) => {
                match self.object(at, depth, in_text) {
                    Some(end) => {
                        self.form = Some(OpenForm::Ended { end });
                        true
                    }
                    None => self.overflows(rules, out),
                }
            }
            Some(OpenForm::Ended { end }) => self.ended(end, rules, out),
        }
    }

    fn until(
        &mut self,
        end: Cow<'static, str>,
        from: usize,
        attempts: u32,
        rules: &GateRules<'_>,
        out: &mut Vec<Gated>,
    ) -> bool {
        let Some(at) = self.kept[from..].find(&*end) else {
            let seen = (self.kept.len() + 1).saturating_sub(end.len()).max(from);
            let from = self.kept.floor_char_boundary(seen);
            self.form = Some(OpenForm::Until {
                end,
                from,
                attempts,
            });
            return self.overflows(rules, out);
        };
        let behind = from + at + end.len();
        // The end may be a part of a value.
        if attempts < ATTEMPTS && self.is_cut(behind, rules) {
            self.form = Some(OpenForm::Until {
                end,
                from: behind,
                attempts: attempts + 1,
            });
        } else if attempts < ATTEMPTS {
            self.form = Some(OpenForm::Ended { end: behind });
        } else {
            self.form = Some(OpenForm::Rest);
        }
        true
    }

    /// Returns `true` if the form that is read ends inside a call.
    fn is_cut(&self, end: usize, rules: &GateRules<'_>) -> bool {
        let text = &self.kept[self.base..end];
        if text.ends_with('\n') && text.matches('(').count() > text.matches(')').count() {
            return true;
        }
        let calls = find_in(
            text,
            rules.registry,
            rules.limits,
            rules.dialects.custom(),
            &TextContext::default(),
        );
        calls.last().is_some_and(|call| !call.is_whole)
    }

    /// A form has ended: what follows decides whether it is a call.
    fn ended(&mut self, end: usize, rules: &GateRules<'_>, out: &mut Vec<Gated>) -> bool {
        if self.kept[self.base..].starts_with('{') {
            match self.next_object(end) {
                Some(true) => return true,
                Some(false) => {}
                None => return false,
            }
        }
        let is_marked = self.is_marked(rules);
        let before = self.around().before();
        if before.is_call(is_marked, "", false) == Some(true) {
            self.read(end, false, true, rules, out);
            return true;
        }
        let behind = &self.kept[end..];
        let next = end + behind.len() - behind.trim_start().len();
        let behind = &self.kept[next..];
        if HARMONY.iter().any(|it| self.kept.starts_with(it)) {
            if let Some(token) = HARMONY_ENDS.iter().find(|it| behind.starts_with(**it)) {
                let end = next + token.len();
                self.form = Some(OpenForm::Ended { end });
                return true;
            }
            if HARMONY_ENDS.iter().any(|it| it.starts_with(behind)) {
                return false;
            }
        }
        if behind.is_empty() {
            return false;
        }
        let is_line_start = self.is_line_start(next);
        if !self.may_open(behind, is_line_start, rules) {
            self.read(end, false, false, rules, out);
            return true;
        }
        let tokens = HARMONY.iter().chain(&HARMONY_ENDS);
        let mut openers = OPENERS.iter().map(|(opener, ..)| opener).chain(tokens);
        if is_marked && openers.any(|opener| behind.starts_with(opener)) {
            self.read(end, false, true, rules, out);
            return true;
        }
        (self.form, self.base) = (
            Some(OpenForm::Unknown {
                at_line_start: is_line_start,
            }),
            next,
        );
        true
    }

    /// Returns `true` if another object follows the one that ends here, after a `;`; `None` if more text is needed.
    fn next_object(&mut self, end: usize) -> Option<bool> {
        let behind = &self.kept[end..];
        let rest = match behind.strip_prefix(';') {
            Some(rest) => rest.trim_start(),
            None if behind.is_empty() => return None,
            None => return Some(false),
        };
        if rest.is_empty() {
            return None;
        }
        let follows = rest.starts_with('{');
        if follows {
            self.form = Some(OpenForm::Object {
                at: self.kept.len() - rest.len(),
                depth: 0,
                in_text: false,
            });
        }
        Some(follows)
    }

    /// Returns `true` if a wrapper marks the kept form.
    fn is_marked(&self, rules: &GateRules<'_>) -> bool {
        let text = self.kept.as_str();
        OPENERS.iter().any(|(opener, ..)| text.starts_with(opener))
            || HARMONY.iter().any(|opener| text.starts_with(opener))
            || rules
                .dialects
                .custom()
                .iter()
                .any(|it| text.starts_with(&it.before))
    }

    /// Releases what is kept if it is longer than a block may be.
    fn overflows(&mut self, rules: &GateRules<'_>, out: &mut Vec<Gated>) -> bool {
        self.kept.len() > rules.limits.block && self.release_first(out)
    }

    /// The header of a message of Harmony: a call begins, or a channel.
    fn header(&mut self, out: &mut Vec<Gated>) -> bool {
        let text = &self.kept[self.base..];
        let Some(length) = text.find(HARMONY_MESSAGE) else {
            return text.len() > HEADER && self.release_first(out);
        };
        let header = Header::of(&text[..length]);
        let body = self.base + length + HARMONY_MESSAGE.len();
        if header.function.is_none() {
            self.channel = if header.is_reasoning() {
                Channel::Reasoning
            } else {
                Channel::Visible
            };
            self.kept.drain(..body);
            self.form = None;
            return true;
        }
        let rest = self.kept[body..].trim_start();
        if rest.is_empty() {
            return false;
        }
        if !rest.starts_with('{') {
            return self.release_first(out);
        }
        self.channel = Channel::Visible;
        let at = self.kept.len() - rest.len();
        self.form = Some(OpenForm::Object {
            at,
            depth: 0,
            in_text: false,
        });
        true
    }

    /// The end of the object, or `None` with the position kept for the next piece.
    fn object(&mut self, from: usize, mut depth: usize, mut in_text: bool) -> Option<usize> {
        let bytes = self.kept.as_bytes();
        let mut at = from;
        while let Some(byte) = bytes.get(at) {
            match (in_text, byte) {
                // What is escaped may not be there yet.
                (true, b'\\') if at + 1 >= bytes.len() => break,
                (true, b'\\') => at += 1,
                (_, b'"') => in_text = !in_text,
                (false, b'{' | b'[') => depth += 1,
                (false, b'}' | b']') => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
            at += 1;
        }
        self.form = Some(OpenForm::Object { at, depth, in_text });
        None
    }

    /// Reads what is kept up to `end`: calls and the text between them.
    fn read(
        &mut self,
        end: usize,
        is_end: bool,
        before_form: bool,
        rules: &GateRules<'_>,
        out: &mut Vec<Gated>,
    ) {
        let rest = self.kept.split_off(end);
        let text = std::mem::replace(&mut self.kept, rest);
        (self.form, self.base) = (None, 0);
        let around = self.around.get_or_insert_default();
        let place = TextContext {
            around: Some(around),
            behind: if is_end { "" } else { &self.kept },
            before_form,
        };
        let calls = find_in(
            &text,
            rules.registry,
            rules.limits,
            rules.dialects.custom(),
            &place,
        );
        let at_line_start = around.is_line_blank();
        let mut done = 0;
        let mut form: Option<(Range<usize>, Arc<str>)> = None;
        for call in calls {
            let is_meant = (call.is_whole || is_end)
                && rules.dialects.contains(call.dialect)
                && rules.registry.get(&call.gadget_name).is_some();
            let range = call.range.clone();
            let gap = text.get(done..range.start).map(unwrapped);
            let line = gap.as_deref().unwrap_or_default();
            let line = line.rsplit('\n').next().unwrap_or_default();
            let is_placed = line.trim().is_empty()
                && (at_line_start || text[..range.start].contains('\n') || done > 0);
            if !is_meant || rules.anchoring == Anchoring::LineStart && !is_placed {
                continue;
            }
            // Several calls may be in one form.
            if let Some(gap) = text.get(done..range.start) {
                self.release_around(gap, Gated::Opening, out);
            }
            done = done.max(range.end);
            let (_, written) = match &form {
                Some(form) if form.0 == range => form,
                _ => form.insert((range.clone(), text[range].into())),
            };
            out.push(Gated::Call(call, Arc::clone(written)));
        }
        let rest = &text[done..];
        if done == 0 && is_end && self.is_begun(&text, rules) {
            out.push(Gated::Cut(text));
        } else if done == 0 {
            self.release(rest, out);
        } else {
            // The end of the reply may have cut a wrapper off.
            if is_end && begins_wrapper(unwrapped(rest).trim()) {
                out.push(Gated::Closing(rest.to_owned()));
            } else {
                self.release_around(rest, Gated::Closing, out);
            }
        }
    }

    /// Gives out what precedes or follows a call in its form: wrappers, and text if there is any.
    fn release_around(&mut self, gap: &str, side: fn(String) -> Gated, out: &mut Vec<Gated>) {
        if unwrapped(gap).trim().is_empty() {
            out.push(side(gap.to_owned()));
            return;
        }
        for (text, is_wrapper) in split_wrappers(gap) {
            if is_wrapper {
                out.push(side(text.to_owned()));
            } else {
                self.release(text, out);
            }
        }
    }

    /// Gives text out, and remembers what it is.
    fn release(&mut self, text: &str, out: &mut Vec<Gated>) {
        if text.is_empty() {
            return;
        }
        if self.channel == Channel::Reasoning {
            match out.last_mut() {
                Some(Gated::Reasoning(before)) => before.push_str(text),
                _ => out.push(Gated::Reasoning(text.to_owned())),
            }
            return;
        }
        self.around.get_or_insert_default().push(text);
        push_text(out, text);
    }

    /// Gives the first character out: no form begins there.
    fn release_first(&mut self, out: &mut Vec<Gated>) -> bool {
        (self.form, self.base) = (None, 0);
        let fence = self.kept.bytes().take_while(|it| *it == b'`').count();
        let first = self.kept.chars().next().map_or(0, char::len_utf8);
        let rest = self.kept.split_off(first.max(fence));
        let text = std::mem::replace(&mut self.kept, rest);
        self.release(&text, out);
        !self.kept.is_empty()
    }
}

fn push_text(out: &mut Vec<Gated>, text: &str) {
    if text.is_empty() {
        return;
    }
    match out.last_mut() {
        Some(Gated::Text(before)) => before.push_str(text),
        _ => out.push(Gated::Text(text.to_owned())),
    }
}
