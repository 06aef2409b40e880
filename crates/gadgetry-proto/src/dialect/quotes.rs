//! Distinguishes calls from texts that quote one.

use serde::{Deserialize, Serialize};

use crate::dialect::wrappers::{before_wrappers, unwrapped};

/// Bytes of the beginning and of the end of a line that are kept.
const HEAD: usize = 64;
const TAIL: usize = 256;

/// Elements whose content is data, and what begins the line of a result.
const DATA: [&str; 23] = [
    "blockquote",
    "code",
    "context",
    "document",
    "documents",
    "example",
    "examples",
    "file",
    "function_result",
    "function_results",
    "observation",
    "output",
    "pre",
    "quote",
    "result",
    "results",
    "sample",
    "source",
    "tool_output",
    "tool_response",
    "tool_responses",
    "tool_result",
    "tool_results",
];

/// Phrases that announce an example, before it.
const CUES: [&str; 12] = [
    "for example",
    "for instance",
    "example:",
    "e.g.",
    "looks like",
    "look like",
    "such as",
    "would be",
    "would write",
    "instead of",
    "do not write",
    "never write",
];

/// The text before a place in a reply, as far as it decides about quotations. It is the same however the text arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent facts about a text"
)]
pub(crate) struct Surroundings {
    head: String,
    tail: String,
    /// The end of the last line that was not blank.
    previous: String,
    /// Whether a quotation of this line is open, by backticks and by straight quotes.
    in_ticks: bool,
    in_quotes: bool,
    /// Typographic quotes that are open.
    curly: u32,
    ticks: u32,
    /// The fence that is open: its character and its length.
    fence: Option<(char, u32)>,
    /// The element of data that is open.
    element: Option<String>,
    /// Whether the line has more than blanks.
    is_line_used: bool,
    has_prose: bool,
    escaped: bool,
}

/// The facts about the text before a form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Before {
    has_prose: bool,
    on_line: bool,
    is_introduced: bool,
}

impl Surroundings {
    /// Takes text that is not a call.
    pub(crate) fn push(&mut self, text: &str) {
        for c in text.chars() {
            if c == '\n' {
                self.end_line();
                continue;
            }
            if self.head.len() < HEAD && !(self.head.is_empty() && c.is_whitespace()) {
                self.head.push(c);
            }
            self.tail.push(c);
            if self.tail.len() >= 2 * TAIL {
                let from = self.tail.ceil_char_boundary(self.tail.len() - TAIL);
                self.tail.drain(..from);
            }
            if !c.is_whitespace() {
                self.is_line_used = true;
                self.has_prose = true;
            }
            match c {
                '`' => {
                    self.ticks += 1;
                    self.in_ticks = !self.in_ticks;
                }
                '"' if !self.escaped => self.in_quotes = !self.in_quotes,
                '“' | '«' | '„' => self.curly += 1,
                '”' | '»' => self.curly = self.curly.saturating_sub(1),
                '>' => self.end_tag(),
                _ => {}
            }
            self.escaped = c == '\\' && !self.escaped;
        }
    }

    /// Takes the text before a form, without its wrappers.
    pub(crate) fn push_gap(&mut self, gap: &str) {
        let text = before_wrappers(gap);
        let behind = &gap[text.len()..];
        self.push(&unwrapped(text));
        let mut lines = behind.split('\n').skip(1).peekable();
        let has_line = lines.peek().is_some();
        let lines: Vec<&str> = lines.collect();
        let has_blank = lines
            .iter()
            .rev()
            .skip(1)
            .any(|line| line.trim().is_empty());
        if has_line && self.is_line_used {
            self.push("\n");
        }
        if has_blank {
            self.push("\n");
        }
        if let Some(last) = lines.last() {
            self.push(&unwrapped(last));
        } else if text.is_empty() || !behind.trim().is_empty() {
            self.push(&unwrapped(behind));
        } else {
            self.push(behind);
        }
    }

    fn end_line(&mut self) {
        if self.is_line_used {
            self.see_fence();
            self.previous.clone_from(&self.tail);
            if self.is_result() {
                self.element = Some(String::new());
            }
        } else {
            // A quotation ends with its paragraph at the latest.
            (self.in_quotes, self.curly) = (false, 0);
            if self.element.as_deref() == Some("") {
                self.element = None;
            }
        }
        self.head.clear();
        self.tail.clear();
        (self.in_ticks, self.ticks, self.is_line_used, self.escaped) = (false, 0, false, false);
    }

    /// Opens or closes a fence, if the line is one.
    fn see_fence(&mut self) {
        let Some(c) = self.head.chars().next().filter(|c| matches!(c, '`' | '~')) else {
            return;
        };
        let length = self.head.chars().take_while(|it| *it == c).count();
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let is_bare = self.head.trim_end().chars().all(|it| it == c);
        match self.fence {
            _ if length < 3 => {}
            Some((open, least)) if open == c && length >= least && is_bare => self.fence = None,
            Some(_) => {}
            None if c == '`' && self.ticks != length => {}
            None => self.fence = Some((c, length)),
        }
    }

    /// Opens or closes an element of data, if what ends here is its tag.
    fn end_tag(&mut self) {
        let Some(at) = self.tail.rfind('<') else {
            return;
        };
        let tag = &self.tail[at + 1..];
        let (tag, closes) = tag
            .strip_prefix('/')
            .map_or((tag, false), |tag| (tag, true));
        let end = tag
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(tag.len());
        let name = tag[..end].to_ascii_lowercase();
        let closes_open = closes && self.element.as_deref() == Some(name.as_str());
        if closes_open || name == "end" && self.element.as_deref() == Some("result") {
            self.element = None;
        } else if !closes
            && self.element.is_none()
            && !tag.ends_with("/>")
            && DATA.contains(&&*name)
        {
            self.element = Some(name);
        }
    }

    /// Returns `true` if the line begins the result of a gadget, as a conversation shows it.
    fn is_result(&self) -> bool {
        self.head.starts_with("RESULT (") || self.head.starts_with("RESULT:")
    }

    /// Returns `true` if a form that begins here is quoted.
    pub(crate) fn is_quoted(&self) -> bool {
        let last = self.tail.chars().next_back();
        let bullet = self.head.trim_end();
        let number = bullet.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_item = ["-", "*", "+"].contains(&bullet)
            || number.len() < bullet.len() && [".", ")"].contains(&number);
        self.fence.is_some()
            || self.element.is_some()
            || self.in_ticks
            || self.in_quotes
            || self.curly > 0
            || is_item
            || self.head.starts_with(['>', '|'])
            || self.is_result()
            || last.is_some_and(|last| "`'\"‘“«„(".contains(last))
    }

    /// Returns the facts that decide, with the text that follows, about a form that begins here.
    pub(crate) fn before(&self) -> Before {
        let line = if self.is_line_used {
            &self.tail
        } else {
            &self.previous
        };
        let from = line.ceil_char_boundary(line.len().saturating_sub(TAIL));
        let line = line[from..].to_lowercase();
        Before {
            has_prose: self.has_prose,
            on_line: self.is_line_used,
            is_introduced: CUES.iter().any(|cue| line.contains(cue)),
        }
    }

    pub(crate) fn is_line_blank(&self) -> bool {
        !self.is_line_used
    }
}

impl Before {
    /// Returns `true` if a form is a call, given the text that follows it; `None` if that must be known first.
    ///
    /// `is_marked` says that a wrapper marks the form.
    pub(crate) fn is_call(self, is_marked: bool, behind: &str, is_end: bool) -> Option<bool> {
        if !self.has_prose {
            return Some(true);
        }
        let text = behind.trim_start();
        let Some(first) = text.chars().next() else {
            return is_end.then_some(!self.is_introduced);
        };
        let on_line = !behind[..behind.len() - text.len()].contains('\n');
        let goes_on = first.is_lowercase() || ",;.)\"'`”».".contains(first);
        let is_quoted = !is_marked || self.is_introduced || goes_on || on_line && self.on_line;
        Some(!is_quoted)
    }
}
