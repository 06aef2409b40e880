//! Parts of lines: texts of others, and numbers of things.

use std::iter;
use std::time::Duration;

use gadgetry::proto::visible::visible_line;

/// The longest value, name, result or error that is shown while a run is in progress.
const SHOWN_CHARS: usize = 72;

/// One line without invisible characters; a run of whitespace becomes one space.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    visible_line(&words.join(" ")).into_owned()
}

/// The same, of readable length.
pub(crate) fn short(text: &str) -> String {
    cut(text, SHOWN_CHARS)
}

/// The same for what went wrong, whose end may say what to do.
pub(crate) fn longer(text: &str) -> String {
    cut(text, 6 * SHOWN_CHARS)
}

fn cut(text: &str, limit: usize) -> String {
    // One more than the line holds, however much whitespace is between the words.
    let words = text
        .split_whitespace()
        .flat_map(|word| iter::once(' ').chain(word.chars()));
    let words: String = words.skip(1).take(limit + 1).collect();
    let line = visible_line(&words);
    match line.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.into_owned(),
    }
}

/// The end of a text, in one line of readable length.
pub(crate) fn short_end(text: &str) -> String {
    let line = one_line(tail(text, 4 * SHOWN_CHARS));
    let end = tail(&line, SHOWN_CHARS);
    let is_whole = end.len() == line.len() && text.chars().count() <= 4 * SHOWN_CHARS;
    if is_whole { line } else { format!("…{end}") }
}

/// The last characters of a text.
pub(crate) fn tail(text: &str, chars: usize) -> &str {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1));
    start.map_or(text, |(at, _)| &text[at..])
}

/// A number of things, such as `1 file` and `2 files`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// A duration in its largest unit.
pub(crate) fn age_words(age: Duration) -> String {
    let seconds = age.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_others_are_one_line() {
        let check = |text: &str, line: &str| {
            assert_eq!(one_line(text), line);
            assert_eq!(short(text), line);
        };
        check("", "");
        check(" a\n\t b\r\u{2028}c\u{85}d ", "a b c d");
        check("\u{1b}[1A\u{202e}x", "\\u{1b}[1A\\u{202e}x");
    }

    #[test]
    fn ends_of_texts_are_one_line() {
        let check = |text: &str, line: &str| assert_eq!(short_end(text), line);
        check("", "");
        check("a\nb\u{1b}\n", "a b\\u{1b}");
        let full = "é".repeat(72);
        check(&full, &full);
        check(&format!("x{full}"), &format!("…{full}"));
        check(&format!("x{}error: no", "\n".repeat(400)), "…error: no");
    }

    #[test]
    fn long_lines_are_cut() {
        let check = |text: &str, line: &str| assert_eq!(short(text), line);
        let full = "x".repeat(72);
        check(&full, &full);
        check(&format!("{full}y"), &format!("{full}…"));
        check(&"ab ".repeat(100), &format!("{}…", "ab ".repeat(24)));
        check(
            &format!("{}\u{1b}", "x".repeat(70)),
            &format!("{}\\u…", "x".repeat(70)),
        );
    }

    #[test]
    fn ages_have_one_unit() {
        let check = |seconds: u64, text: &str| {
            assert_eq!(age_words(Duration::from_secs(seconds)), text);
        };
        check(0, "0s");
        check(59, "59s");
        check(60, "1m");
        check(7199, "1h");
        check(86_400, "1d");
        check(864_000, "10d");
    }
}
