//! Markdown that grows: what cannot change any more is settled, the rest is rendered again for each frame.
//!
//! A block is settled when a blank line ends it, a list when something follows that does not belong to it, and code line by
//! line. Only whole lines decide, so the settled lines are the same however the text was cut into pieces.

mod code;
mod style;

use std::mem;

use ratatui_core::text::{Line, Span};

use crate::chat::text::{DIM, clean, wrap_all};

use code::{Code, Colors};
use style::{DOLLAR, FENCE, Styles};

/// Bytes after which a block is settled at the next line, whatever it is.
const LARGEST_BLOCK: usize = 16 << 10;
/// Marks of quotes and lists that a line begins with, one level each, at most; a line of more is shown as it is.
const LONGEST_MARKS: usize = 200;
/// Cells of a table, at most; a block of more is shown as it is. A row has as many as the widest, so that 4,000 columns and 4,000 rows
/// of one cell, 16 KB, would be 16 million.
const MOST_CELLS: usize = 16 << 10;
/// Bytes at the end of a block that are shown while it grows.
const SHOWN_BYTES: usize = 4 << 10;
/// Indentation of code.
const INDENT: &str = "  ";

/// A text in Markdown that is not complete yet.
#[derive(Debug, Default)]
pub(crate) struct Markdown {
    /// Whole lines of the block that grows.
    block: String,
    /// The last line, which has no end yet.
    line: String,
    /// The code block that is open.
    fence: Option<Fence>,
    /// Settled lines that were not taken yet.
    settled: Vec<Settled>,
    /// Whether a block was settled before, so that a blank line separates the next one.
    follows: bool,
    /// Whether the last line of the block is blank.
    is_after_blank: bool,
    /// Amount of code that may still be coloured.
    colors: Colors,
}

/// A settled part. It is laid out when the width is known.
#[derive(Debug)]
enum Settled {
    Blank,
    Block(String),
    Code(Line<'static>),
}

#[derive(Debug)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    code: Code,
}

impl Markdown {
    /// Adds text.
    pub(crate) fn push(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = mem::take(&mut self.line);
                self.whole(&line);
            }
        }
    }

    /// Settles the rest.
    pub(crate) fn end(&mut self) {
        if !self.line.is_empty() {
            let line = mem::take(&mut self.line);
            self.whole(&line);
        }
        self.settle_block();
        self.fence = None;
    }

    /// Takes the lines that were settled since the last time.
    pub(crate) fn take_settled(&mut self, width: u16) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for part in mem::take(&mut self.settled) {
            match part {
                Settled::Blank => lines.push(Line::default()),
                Settled::Block(text) => lines.extend(render(&text, width)),
                Settled::Code(line) => lines.extend(wrap_all([&line], width)),
            }
        }
        lines
    }

    /// The lines that may still change.
    pub(crate) fn tail(&self, width: u16) -> Vec<Line<'static>> {
        if let Some(fence) = &self.fence {
            if self.line.is_empty() {
                return Vec::new();
            }
            let line = indented(fence.code.preview(&fence.inner(&self.line), &self.colors));
            return wrap_all([&line], width);
        }
        let text = format!("{}{}", self.block, self.line);
        let text = end_of(&text, SHOWN_BYTES);
        if text.trim().is_empty() {
            return Vec::new();
        }
        let mut lines = Vec::new();
        if self.follows {
            lines.push(Line::default());
        }
        lines.extend(render(text, width));
        lines
    }

    /// Returns whether there is nothing in it, and never was.
    pub(crate) fn is_blank(&self) -> bool {
        !self.follows && self.block.trim().is_empty() && self.line.trim().is_empty()
    }

    fn whole(&mut self, line: &str) {
        if let Some(fence) = &mut self.fence {
            if fence.is_closed_by(line) {
                self.fence = None;
            } else {
                let inner = fence.inner(line);
                let code = fence.code.line(&inner, &mut self.colors);
                self.settled.push(Settled::Code(indented(code)));
            }
            return;
        }
        if let Some(fence) = Fence::opened_by(line) {
            self.settle_block();
            self.separate();
            self.fence = Some(fence);
            return;
        }
        if line.trim().is_empty() {
            self.is_after_blank = true;
            if is_list(&self.block) && self.block.len() < LARGEST_BLOCK {
                self.block.push('\n');
            } else {
                self.settle_block();
            }
            return;
        }
        let continues = line.starts_with([' ', '\t']) || is_item(line);
        if self.is_after_blank && !continues || self.block.len() >= LARGEST_BLOCK {
            self.settle_block();
        }
        self.is_after_blank = false;
        self.block.push_str(line);
        if !line.ends_with('\n') {
            self.block.push('\n');
        }
    }

    fn settle_block(&mut self) {
        let block = mem::take(&mut self.block);
        if !block.trim().is_empty() {
            self.separate();
            self.settled.push(Settled::Block(block));
        }
        self.is_after_blank = false;
    }

    fn separate(&mut self) {
        if mem::replace(&mut self.follows, true) {
            self.settled.push(Settled::Blank);
        }
    }
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let rest = line.trim_start_matches(' ');
        let mark = rest.chars().next().filter(|it| matches!(it, '`' | '~'))?;
        let info = rest.trim_start_matches(mark);
        let length = rest.len() - info.len();
        if length < 3 || mark == '`' && info.contains('`') {
            return None;
        }
        let language = info.split_whitespace().next().unwrap_or_default();
        Some(Self {
            mark,
            length,
            indent: line.len() - rest.len(),
            code: Code::of(language),
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|it| it == self.mark)
    }

    /// The line without the indentation of the fence.
    fn inner(&self, line: &str) -> String {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        clean(&line[blanks.min(self.indent)..])
    }
}

fn indented(mut line: Line<'static>) -> Line<'static> {
    line.spans.insert(0, Span::raw(INDENT));
    line
}

/// Returns whether the block begins as a list.
fn is_list(block: &str) -> bool {
    block.lines().next().is_some_and(is_item)
}

/// Returns whether the line begins an item of a list.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &line[digits..];
    let marks: &[char] = if digits > 0 {
        &['.', ')']
    } else {
        &['-', '*', '+']
    };
    let after = rest.strip_prefix(marks);
    after.is_some_and(|it| it.starts_with([' ', '\t']))
}

/// The last lines of a text, in about `bytes` bytes.
fn end_of(text: &str, bytes: usize) -> &str {
    let Some(from) = text.len().checked_sub(bytes) else {
        return text;
    };
    let from = text.ceil_char_boundary(from);
    let line = text[from..].find('\n').map_or(from, |at| from + at + 1);
    &text[if line < text.len() { line } else { from }..]
}

/// Returns whether a block is one that the renderer fails on or takes long for.
fn is_monstrous(lines: &[String]) -> bool {
    let separators = lines.iter().map(|line| line.matches('|').count());
    let columns = 1 + separators.max().unwrap_or_default();
    columns.saturating_mul(lines.len()) > MOST_CELLS || lines.iter().any(|it| is_monstrous_line(it))
}

/// Returns whether a line is too long, or has too many marks at its beginning.
fn is_monstrous_line(line: &str) -> bool {
    let is_mark = |c: &char| c.is_ascii_digit() || " \t>-*+.)".contains(*c);
    let marks = line.chars().take_while(is_mark);
    line.len() > LARGEST_BLOCK || marks.filter(|c| !c.is_whitespace()).count() > LONGEST_MARKS
}

/// The lines of a block as one text. Lines of a paragraph stay lines: what models write in lines is meant so.
fn with_breaks(lines: &[String]) -> String {
    let keeps = !lines.first().is_some_and(|line| is_item(line));
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let line = if keeps { line.trim_end() } else { line };
        text.push_str(line);
        let Some(next) = lines.get(index + 1) else {
            break;
        };
        if keeps && !line.is_empty() && !next.trim().is_empty() && !line.ends_with('\\') {
            text.push_str("  ");
        }
        text.push('\n');
    }
    text
}

/// Turns formulas such as `$$ x $$` in a line into inline ones, because others break the line.
fn with_inline_math(line: &str) -> String {
    let parts: Vec<&str> = line.split("$$").collect();
    let paired = (parts.len() - 1) / 2 * 2;
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        text.push_str(part);
        if index + 1 == parts.len() {
            break;
        }
        text.extend(match index {
            _ if index >= paired => ["$", "$"],
            opens if opens % 2 == 0 => ["$", DOLLAR],
            _ => [DOLLAR, "$"],
        });
    }
    text
}

fn render(text: &str, width: u16) -> Vec<Line<'static>> {
    let text: Vec<String> = text.lines().map(clean).collect();
    if is_monstrous(&text) {
        let lines: Vec<Line<'static>> = text.into_iter().map(Line::raw).collect();
        return wrap_all(&lines, width);
    }
    let text: Vec<String> = text.iter().map(|line| with_inline_math(line)).collect();
    let text = with_breaks(&text);
    let options = tui_markdown::Options::new(Styles).table_width(width);
    let rendered = tui_markdown::from_str_with_options(&text, &options);
    let is_fence = |line: &Line<'_>| line.spans.len() == 1 && line.spans[0].content == FENCE;
    let lines = rendered.lines.into_iter().filter(|line| !is_fence(line));
    let lines = lines.map(|line| {
        // Entities such as `&#27;` have become characters.
        let clean = |span: &Span<'_>| {
            let text = clean(&span.content.replace(DOLLAR, "$"));
            Span::styled(text, line.style.patch(span.style))
        };
        let spans: Vec<Span<'static>> = line.spans.iter().map(clean).collect();
        let is_rule = spans.len() == 1 && spans[0].content == "---";
        if is_rule {
            Line::styled("─".repeat(usize::from(width.min(20))), DIM)
        } else {
            Line::from(spans)
        }
    });
    let lines: Vec<Line<'static>> = lines.collect();
    let last = lines.iter().rposition(|line| line.width() > 0);
    wrap_all(&lines[..last.map_or(0, |it| it + 1)], width)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(lines: &[Line<'_>]) -> String {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    fn settled(pieces: &[&str]) -> String {
        let mut text = Markdown::default();
        let mut lines = Vec::new();
        for piece in pieces {
            text.push(piece);
            lines.extend(text.take_settled(40));
            text.tail(40);
        }
        text.end();
        lines.extend(text.take_settled(40));
        assert_eq!(shown(&text.tail(40)), "");
        shown(&lines)
    }

    #[test]
    fn blocks_are_rendered() {
        let check = |text: &str, expected: &str| assert_eq!(settled(&[text]), expected, "{text:?}");
        check("", "");
        check("a *b* **c**\n", "a b c");
        check("one\n\n\ntwo", "one\n\ntwo");
        check("# Title\ntext", "Title\n\ntext");
        check("### A *b*\n", "A b");
        check("a $$ e = mc^2 $$ and", "a $$ e = mc^2 $$ and");
        check("$$x_1$$, $$y_1$$ for $$ 5", "$$x_1$$, $$y_1$$ for $$ 5");
        check("a `$$x$$` b $5 $", "a $$x$$ b $5 $");
        check("- a\n- b\n\n- c\n\nend", "- a\n- b\n- c\n\nend");
        check("1. a\n\n   more\n2. b\n", "1. a\n\nmore\n2. b");
        check("```rust\nfn a() {}\n\n```\nb", "  fn a() {}\n  \n\nb");
        check("~~~\n```\n~~~", "  ```");
        check("a\n```\ncode", "a\n\n  code");
        check("    - deep", "- deep");
        check(
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "┌───┬───┐\n│ a │ b │\n├───┼───┤\n│ 1 │ 2 │\n└───┴───┘",
        );
        check("> quoted\n", "> quoted");
        check(
            "Roses are red,\nviolets\n  blue.",
            "Roses are red,\nviolets\nblue.",
        );
        check(
            "--- a/x\n+++ b/x\n-old\n+new",
            "--- a/x\n+++ b/x\n-old\n+new",
        );
        check("a\\\nb  \nc", "a\nb\nc");
        check("> one\n> two", "> one\n> two");
        check("a `b` c", "a b c");
        check("&#27;[2J &#x202e;", "\\u{1b}[2J \\u{202e}");
        check("```\n\u{1b}[31m\n```", "  \\u{1b}[31m");
    }

    #[test]
    fn all_code_of_a_text_has_colors_up_to_one_limit() {
        let blank = "\n".repeat(code::LINES - 1);
        let mut text = Markdown::default();
        text.push(&format!(
            "```rust\n{blank}```\n```rust\nlet x = 1;\nlet y = 1;\n```\n```rust\nlet z = 1;\n```\n"
        ));
        let lines = text.take_settled(40);
        let is_colored = |name: &str| {
            let line = lines.iter().find(|line| line.to_string().contains(name));
            let spans = &line.expect("the line is there").spans;
            spans.iter().any(|span| span.style.fg.is_some())
        };
        assert_eq!(["x =", "y =", "z ="].map(is_colored), [true, false, false]);
    }

    #[test]
    fn what_may_change_is_the_tail() {
        let check = |text: &str, settled: &str, tail: &str| {
            let mut markdown = Markdown::default();
            markdown.push(text);
            assert_eq!(shown(&markdown.take_settled(40)), settled, "{text:?}");
            assert_eq!(shown(&markdown.tail(40)), tail, "{text:?}");
        };
        check("a", "", "a");
        check("a\n", "", "a");
        check("a\n\n", "a", "");
        check("a\n\n**b", "a", "\n**b");
        check("- a\n\n- b", "", "- a\n- b");
        check("```\na\nb", "  a", "  b");
        check("```\na\n```\n", "  a", "");
    }

    #[test]
    fn large_blocks_are_settled_in_parts() {
        let mut markdown = Markdown::default();
        for _ in 0..100_000 {
            markdown.push("word word\n");
            assert!(markdown.block.len() <= LARGEST_BLOCK + 10);
            assert!(markdown.take_settled(40).len() < 10_000);
        }
        assert!(markdown.tail(40).len() < 1000);
    }

    const PIECES: [&str; 22] = [
        "a",
        "b c",
        " ",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "  ",
        "# ",
        "```",
        "```rust\n",
        "~~~\n",
        "|",
        "---",
        "> ",
        "*",
        "`",
        "日本",
        "\t",
        "\r\n",
        "[x](y)",
        "<b>",
    ];

    proptest! {
        #[test]
        fn the_settled_lines_do_not_depend_on_the_pieces(
            picked in proptest::collection::vec(0..PIECES.len(), 0..40),
            cuts in proptest::collection::vec(0..200_usize, 0..12),
        ) {
            let text: String = picked.iter().map(|it| PIECES[*it]).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|it| text.floor_char_boundary(*it)).collect();
            cuts.sort_unstable();
            let (mut pieces, mut from) = (Vec::new(), 0);
            for cut in cuts {
                pieces.push(&text[from..cut]);
                from = cut;
            }
            pieces.push(&text[from..]);
            prop_assert_eq!(settled(&pieces), settled(&[&text]));
        }
    }

    #[test]
    fn a_table_is_not_filled_up_to_millions_of_cells() {
        let check = |columns: usize, rows: usize, is_table: bool| {
            let (heads, rule) = ("|h".repeat(columns), "|-".repeat(columns));
            let text = format!("{heads}|\n{rule}|\n{}", "|x\n".repeat(rows));
            let shown = settled(&[&text]);
            assert_eq!(shown.contains('─'), is_table, "{columns}, {rows}");
            assert!(
                shown.len() < 20 * MOST_CELLS,
                "{columns}, {rows}: {}",
                shown.len()
            );
        };
        check(3, 1_000, true);
        check(10, 1_000, true);
        check(100, 1_000, false);
        check(3_000, 1_000, false);
    }

    #[test]
    fn no_nesting_is_too_deep() {
        /// A line that is just rendered, and one that is not.
        const BYTES: [usize; 2] = [LARGEST_BLOCK - 20, 3 * LARGEST_BLOCK];
        for piece in [
            ">",
            "> ",
            "- ",
            "1. ",
            "[",
            "![",
            "*",
            "**",
            "_",
            "~~",
            "`",
            "<",
            "<a>",
            "[a](",
            "|",
            "|-",
            "| a |\n|---|\n",
            "&",
            "\\",
            "#",
            "x",
            "a*b_",
            "[a]: b\n",
            "~~~\n",
            "- a\n  ",
            "*a ",
            "[^1]",
            "<!--",
            "x\n",
            "$",
            "\"",
            "http://a ",
        ] {
            for start in ["", "|a|b|\n|-|-|\n", "```json\n", "```html\n", "```rust\n"] {
                for bytes in BYTES {
                    let mut text = Markdown::default();
                    text.push(start);
                    text.push(&piece.repeat(bytes / piece.len()));
                    let _ = text.tail(40);
                    text.end();
                    let _ = text.take_settled(40);
                }
            }
        }
    }
}
