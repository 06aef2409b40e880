//! All of what is approved, in pages: the user may agree once the last one was shown.

use gadgetry::proto::visible::visible_line;

/// Lines of a page.
const LINES: usize = 200;
/// Characters of a page, about 125 rows of a usual terminal.
const CHARS: usize = 10_000;
/// Characters of a line; a longer one is continued in the next.
const LINE_CHARS: usize = 1_000;

/// A line of a question. Its mark is the program's own, so no text of others is a line with another mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) mark: Mark,
    /// Without characters that are not seen or command a terminal.
    pub(crate) text: String,
}

/// Kind of a line of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Note of the program about the call.
    Note,
    /// An entry of a list.
    Item,
    /// A line of what is approved.
    Line(Shade),
    /// The rest of the line before.
    Rest(Shade),
}

/// Style of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shade {
    Plain,
    Added,
    Removed,
}

impl Shade {
    fn of_diff(line: &str) -> Self {
        match line.as_bytes().first() {
            Some(b'+') => Self::Added,
            Some(b'-') => Self::Removed,
            _ => Self::Plain,
        }
    }
}

impl Row {
    /// An entry of a list, of any length.
    pub(crate) fn items(text: &str) -> Vec<Self> {
        let mut rows = pieces(text, Shade::Plain);
        if let Some(first) = rows.first_mut() {
            first.mark = Mark::Item;
        }
        rows
    }

    /// A line of the program about the call.
    pub(crate) fn note(text: &str) -> Self {
        Self {
            mark: Mark::Note,
            text: exact(text),
        }
    }
}

/// The lines of a text.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    // Not `lines`, which drops carriage returns.
    text.split('\n')
        .flat_map(|line| pieces(line, Shade::Plain))
        .collect()
}

/// The lines of a diff, coloured.
pub(crate) fn diff_rows(diff: &str) -> Vec<Row> {
    // If all lines end with a carriage return, none of them means anything.
    let is_body = |line: &&str| !line.starts_with("@@") && !line.starts_with('\\');
    let is_windows = diff.lines().any(|line| is_body(&line))
        && diff
            .split_terminator('\n')
            .filter(is_body)
            .all(|line| line.ends_with('\r'));
    diff.split_terminator('\n')
        .flat_map(|line| {
            let shown = line.strip_suffix('\r').filter(|_| is_windows);
            pieces(shown.unwrap_or(line), Shade::of_diff(line))
        })
        .collect()
}

/// A line of any length as rows of readable length.
fn pieces(line: &str, shade: Shade) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut rest = line;
    loop {
        let end = rest.char_indices().nth(LINE_CHARS);
        let end = end.map_or(rest.len(), |(at, _)| at);
        let (piece, more) = rest.split_at(end);
        let mark = if rows.is_empty() {
            Mark::Line(shade)
        } else {
            Mark::Rest(shade)
        };
        let text = exact(piece);
        rows.push(Row { mark, text });
        if more.is_empty() {
            return rows;
        }
        rest = more;
    }
}

/// A text as it is, blanks included, in one line: tabs are blanks, and what is not seen is written out.
pub(crate) fn exact(text: &str) -> String {
    visible_line(&text.replace('\t', "    ")).into_owned()
}

/// Rows in pages, none of which is empty, but for the only one of no rows.
pub(crate) fn pages(rows: Vec<Row>) -> Vec<Vec<Row>> {
    let mut pages = vec![Vec::new()];
    let mut chars = 0;
    for row in rows {
        let length = row.text.chars().count();
        let page = pages
            .last_mut()
            .filter(|page| page.is_empty() || page.len() < LINES && chars + length <= CHARS);
        if let Some(page) = page {
            chars += length;
            page.push(row);
        } else {
            chars = length;
            pages.push(vec![row]);
        }
    }
    pages
}

/// The number of rows in pages that are not shown yet, as words.
pub(crate) fn more<'a>(pages: impl IntoIterator<Item = &'a Vec<Row>>) -> String {
    match pages.into_iter().map(Vec::len).sum() {
        1_usize => "1 more line".to_owned(),
        lines => format!("{lines} more lines"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[Row]) -> Vec<String> {
        let mark = |row: &Row| match row.mark {
            Mark::Note => '-',
            Mark::Item => ' ',
            Mark::Line(_) => '|',
            Mark::Rest(_) => ':',
        };
        let shown = |row| format!("{} {}", mark(row), row.text);
        rows.iter().map(shown).collect()
    }

    #[test]
    fn nothing_is_left_out() {
        let check = |text: &str, expected: &[&str]| assert_eq!(shown(&rows(text)), expected);
        check("", &["| "]);
        check("a  b\n\tc\r\n", &["| a  b", "|     c\\u{d}"]);
        check(
            "a\u{b}b\u{c}c\u{85}d\u{2028}e",
            &["| a\\u{b}b\\u{c}c\\u{85}d\\u{2028}e"],
        );
        let long = "x".repeat(2 * LINE_CHARS + 1);
        let full = "x".repeat(LINE_CHARS);
        check(&long, &[&format!("| {full}"), &format!(": {full}"), ": x"]);
        check(&full, &[&format!("| {full}")]);
    }

    #[test]
    fn carriage_returns_of_a_diff_are_shown_if_they_differ() {
        let check = |diff: &str, expected: &[&str]| assert_eq!(shown(&diff_rows(diff)), expected);
        check(
            "@@ -1 +1 @@\n-a\r\n+b\r\n",
            &["| @@ -1 +1 @@", "| -a", "| +b"],
        );
        check(
            "@@ -1 +1 @@\n-a\r\n+a\n",
            &["| @@ -1 +1 @@", "| -a\\u{d}", "| +a"],
        );
    }

    #[test]
    fn pages_have_every_row_once() {
        let check = |text: &str, lengths: &[usize]| {
            let all = rows(text);
            let pages = pages(all.clone());
            let lengths_of: Vec<usize> = pages.iter().map(Vec::len).collect();
            assert_eq!(lengths_of, lengths);
            assert_eq!(pages.concat(), all);
        };
        check("a", &[1]);
        check(&"a\n".repeat(LINES), &[LINES]);
        check(&"a\n".repeat(LINES + 1), &[LINES, 1]);
        check(&"x".repeat(CHARS), &[10]);
        check(&"x".repeat(CHARS + 1), &[10, 1]);
        assert_eq!(pages(Vec::new()), [Vec::new()]);
    }
}
