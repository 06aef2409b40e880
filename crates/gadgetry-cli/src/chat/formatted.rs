//! Markdown in a terminal that is not the conversation's.

use super::markdown::Markdown;
use super::screen::Colors;
use super::terminal;

/// Returns Markdown as the conversation shows it, for a terminal of this width. Nothing in it commands the terminal but styles.
pub(crate) fn formatted(text: &str, columns: usize) -> String {
    let mut markdown = Markdown::default();
    markdown.push(text);
    markdown.end();
    // Unless the background is known, a colour may be invisible on it.
    let colors = terminal::colors().unwrap_or(Colors::None);
    let columns = u16::try_from(columns).unwrap_or(u16::MAX);
    let mut out = String::new();
    for line in markdown.take_settled(columns.saturating_sub(1).max(1)) {
        colors.line(&mut out, &line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_styled_and_commands_nothing() {
        let check = |text: &str, expected: &str| {
            let shown = formatted(text, 20);
            assert_eq!(shown, expected, "{text}");
        };
        check("It is **fine**.", "It is \x1b[0;1mfine\x1b[0m.\n");
        check("a\x1b[2Jb", "a\\u{1b}[2Jb\n");
        check("", "");
    }
}
