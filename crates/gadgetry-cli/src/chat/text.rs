//! Lines of text: cleaned, measured, wrapped and cut.

use std::borrow::Cow;

use gadgetry::proto::visible::visible_line;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Text that replaces a tab.
const TAB: &str = "    ";

/// Text that is less important.
pub(crate) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
/// Text that is more important.
pub(crate) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
/// Success, and what a diff adds.
pub(crate) const GOOD: Style = Style::new().fg(Color::Green);
/// Failure, and what a diff removes.
pub(crate) const BAD: Style = Style::new().fg(Color::Red);
/// Style of text that needs the user's attention.
pub(crate) const ALERT: Style = Style::new().fg(Color::Yellow);
/// Names of files, commands and gadgets.
pub(crate) const NAME: Style = Style::new().fg(Color::Cyan);

/// One line with its invisible characters written out, and tabs as blanks.
pub(crate) fn clean(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    let line = if line.contains('\t') {
        Cow::Owned(line.replace('\t', TAB))
    } else {
        Cow::Borrowed(line)
    };
    visible_line(&line).into_owned()
}

/// The mark of a line that a user decides about.
pub(crate) const BAR: &str = "  │ ";
/// The mark of what the program says about it.
pub(crate) const NOTE_BAR: &str = "  · ";
/// The mark of a row that continues one with a mark.
const REST_BAR: &str = "  ┆ ";

/// A line with a mark: cut without regard to words, so that no blank of it is lost, and marked in each row.
pub(crate) fn marked(mark: &'static str, text: String, style: Style) -> Line<'static> {
    Line::from(vec![Span::styled(mark, DIM), Span::styled(text, style)])
}

/// The same for the rest of a line.
pub(crate) fn marked_rest(text: String, style: Style) -> Line<'static> {
    marked(REST_BAR, text, style)
}

/// The lines of a text, cleaned, in one style.
pub(crate) fn lines(text: &str, style: Style) -> Vec<Line<'static>> {
    let line = |line| Line::from(Span::styled(clean(line), style));
    text.lines().map(line).collect()
}

/// A line of at most `longest` characters, and how many more there are.
pub(crate) fn long_line(line: &str, longest: usize) -> Cow<'_, str> {
    match line.char_indices().nth(longest) {
        Some((at, _)) => {
            let more = line[at..].chars().count();
            format!("{}… {more} more characters", &line[..at]).into()
        }
        None => line.into(),
    }
}

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Cuts lines into rows of at most `width` columns.
pub(crate) fn wrap_all<'a>(
    lines: impl IntoIterator<Item = &'a Line<'a>>,
    width: u16,
) -> Vec<Line<'static>> {
    let lines = lines.into_iter();
    lines.flat_map(|line| wrap(line, width)).collect()
}

/// Cuts a line into rows of at most `width` columns, between words where possible. Rows after the first are indented as
/// the text of the first one is.
pub(crate) fn wrap(line: &Line<'_>, width: u16) -> Vec<Line<'static>> {
    let width = usize::from(width.max(1));
    if let [mark, text] = &line.spans[..]
        && [BAR, NOTE_BAR, REST_BAR].contains(&&*mark.content)
        && width > 2 * REST_BAR.width()
    {
        return wrap_marked(mark, text, width);
    }
    let cells = cells(line);
    let indent = match indent(&cells) {
        indent if indent <= width / 2 => indent,
        _ => 0,
    };
    let (mut rows, mut from) = (Vec::new(), 0);
    loop {
        let hang = if from == 0 { 0 } else { indent };
        let end = row_end(&cells[from..], width - hang) + from;
        let (to, next) = if end == cells.len() {
            (end, end)
        } else {
            between_words(&cells, from, end)
        };
        rows.push(row(&cells[from..to], hang));
        if next == cells.len() {
            return rows;
        }
        from = next;
    }
}

fn wrap_marked(mark: &Span<'_>, text: &Span<'_>, width: usize) -> Vec<Line<'static>> {
    let line = Line::from(text.clone());
    let cells = cells(&line);
    let mut mark = mark.content.clone().into_owned();
    let (mut rows, mut from) = (Vec::new(), 0);
    loop {
        let end = from + row_end(&cells[from..], width - REST_BAR.width());
        let mut row = row(&cells[from..end], 0);
        let before = std::mem::replace(&mut mark, REST_BAR.to_owned());
        row.spans.insert(0, Span::styled(before, DIM));
        rows.push(row);
        if end == cells.len() {
            return rows;
        }
        from = end;
    }
}

/// The beginning of a line in at most `width` columns, with an ellipsis if something is missing.
pub(crate) fn cut(line: &Line<'_>, width: u16) -> Line<'static> {
    let cells = cells(line);
    let width = usize::from(width.max(1));
    let whole = row_end(&cells, width);
    if whole == cells.len() {
        return row(&cells, 0);
    }
    // If the first character has no room, the ellipsis is all.
    let end = match cells.first() {
        Some(first) if first.1 < width => row_end(&cells, width - 1),
        Some(_) | None => 0,
    };
    let mut line = row(&cells[..end], 0);
    line.spans.push(Span::raw("…"));
    line
}

/// A character as it is seen, with its columns and style.
struct Cell<'a>(&'a str, usize, Style);

fn cells<'a>(line: &'a Line<'_>) -> Vec<Cell<'a>> {
    let mut cells = Vec::new();
    for span in &line.spans {
        let style = line.style.patch(span.style);
        let graphemes = span.content.graphemes(true);
        cells.extend(graphemes.map(|it| Cell(it, it.width(), style)));
    }
    cells
}

/// Returns the number of cells that fit; at least one, so that every row has something.
fn row_end(cells: &[Cell<'_>], width: usize) -> usize {
    let mut used = 0;
    for (index, Cell(_, columns, _)) in cells.iter().enumerate() {
        used += columns;
        if used > width {
            return index.max(1);
        }
    }
    cells.len()
}

/// Returns where the row that could reach to `end` ends and where the next one begins.
fn between_words(cells: &[Cell<'_>], from: usize, end: usize) -> (usize, usize) {
    if cells[end].0 == " " {
        let blanks = cells[end..].iter().take_while(|it| it.0 == " ").count();
        return (end, end + blanks);
    }
    let text = cells[from..end].iter().position(|it| it.0 != " ");
    let first = from + text.unwrap_or_default();
    match cells[first..end].iter().rposition(|it| it.0 == " ") {
        Some(blank) => (first + blank, first + blank + 1),
        None => (end, end),
    }
}

fn row(cells: &[Cell<'_>], hang: usize) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    if hang > 0 {
        spans.push(Span::raw(" ".repeat(hang)));
    }
    for Cell(text, _, style) in cells {
        match spans.last_mut() {
            Some(last) if last.style == *style => last.content.to_mut().push_str(text),
            _ => spans.push(Span::styled((*text).to_owned(), *style)),
        }
    }
    Line::from(spans)
}

/// Columns before the text of a line: blanks, and the mark of a list or quote.
fn indent(cells: &[Cell<'_>]) -> usize {
    let blanks = cells.iter().take_while(|it| it.0 == " ").count();
    let rest = &cells[blanks..];
    let digits = rest.iter().take_while(|it| is_digit(it.0)).count();
    let mark = match rest.get(digits).map(|it| it.0) {
        Some("-" | "*" | "•" | ">" | "│" | "+") if digits == 0 => 1,
        Some("." | ")") if digits > 0 => digits + 1,
        _ => return blanks,
    };
    match rest.get(mark) {
        Some(Cell(" ", ..)) => blanks + mark + 1,
        _ => blanks,
    }
}

fn is_digit(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[Line<'_>]) -> Vec<String> {
        rows.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_are_wrapped_between_words() {
        let check = |text: &str, width: u16, rows: &[&str]| {
            let wrapped = wrap(&Line::raw(text), width);
            assert_eq!(shown(&wrapped), rows, "{text:?} in {width}");
            let fits = |row: &Line<'_>| self::width(&row.to_string()) <= usize::from(width);
            assert!(width < 2 || wrapped.iter().all(fits), "{text:?} in {width}");
        };
        check("", 5, &[""]);
        check("one two", 7, &["one two"]);
        check("one two", 6, &["one", "two"]);
        check("one   two", 3, &["one", "two"]);
        check("abcdefgh", 3, &["abc", "def", "gh"]);
        check("a abcdefgh", 4, &["a", "abcd", "efgh"]);
        check("日本語です", 5, &["日本", "語で", "す"]);
        check("日本", 1, &["日", "本"]);
        check(
            "👩\u{200d}💻👩\u{200d}💻",
            3,
            &["👩\u{200d}💻", "👩\u{200d}💻"],
        );
        check("- one two", 6, &["- one", "  two"]);
        check("12. one two", 8, &["12. one", "    two"]);
        check("  code here", 8, &["  code", "  here"]);
        check("          deep", 8, &["        ", "deep"]);
        check("-x yz", 4, &["-x", "yz"]);
    }

    #[test]
    fn marked_lines_lose_nothing_and_are_marked_in_each_row() {
        let check = |mark: &'static str, text: &str, width: u16, rows: &[&str]| {
            let wrapped = wrap(&marked(mark, text.to_owned(), NAME), width);
            assert_eq!(shown(&wrapped), rows, "{text:?} in {width}");
        };
        check(BAR, "", 20, &["  │ "]);
        check(BAR, "ls      -l", 12, &["  │ ls      ", "  ┆ -l"]);
        check(NOTE_BAR, "in a folder", 12, &["  · in a fol", "  ┆ der"]);
        check(BAR, "日本語です", 11, &["  │ 日本語", "  ┆ です"]);
    }

    #[test]
    fn styles_stay_with_their_text() {
        let line = Line::from(vec![Span::raw("a "), Span::styled("bold text", BOLD)]);
        let rows = wrap(&line, 6);
        let second = Line::from(vec![Span::styled("text", BOLD)]);
        assert_eq!(rows[1], second);
        assert_eq!(shown(&rows), ["a bold", "text"]);
    }

    #[test]
    fn long_lines_are_cut() {
        let check = |text: &str, width: u16, expected: &str| {
            assert_eq!(cut(&Line::raw(text), width).to_string(), expected);
        };
        check("ab", 1, "…");
        check("日本", 2, "…");
        check("status", 6, "status");
        check("status", 5, "stat…");
        check("日本語", 5, "日本…");
        check("日本語", 4, "日…");
    }

    #[test]
    fn nothing_in_a_line_commands_the_terminal() {
        let check = |text: &str, expected: &str| assert_eq!(clean(text), expected);
        check("a\tb\r\n", "a    b");
        check(
            "\u{1b}[2J\u{7}\u{9b}m\rx",
            "\\u{1b}[2J\\u{7}\\u{9b}m\\u{d}x",
        );
        check("\u{202e}x", "\\u{202e}x");
    }
}
