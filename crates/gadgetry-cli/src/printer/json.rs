//! JSON that can be shown on a terminal.

use std::fmt::Write as _;

use gadgetry::proto::visible::is_invisible;

/// Lines of JSON with invisible characters as `\\uXXXX`, which is the same JSON.
pub(super) fn visible(lines: &str) -> String {
    let mut out = String::with_capacity(lines.len());
    let mut before = None;
    for c in lines.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            // Inside a string it would be escaped already, so this one separates two values.
            '\r' => out.push(' '),
            c if is_invisible(c, before) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
        before = Some(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn it_is_the_same_json() {
        let hostile = "\u{7f}\u{85}\u{9b}31m\u{202e}\u{200b}\u{e0041}\u{2028}\u{feff}\u{1b}[2J\r\n👩\u{200d}💻";
        let value = json!({ hostile: [hostile, 1] });
        let shown = visible(&format!("{value}\r\n"));
        let is_harmful = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{200b}".contains(c);
        assert!(!shown.contains(is_harmful), "{shown:?}");
        assert!(
            shown.contains(r"\u007f\u0085\u009b31m\u202e\u200b\udb40\udc41\u2028\ufeff"),
            "{shown}"
        );
        assert!(shown.contains("👩\u{200d}💻"));
        assert_eq!(serde_json::from_str::<Value>(&shown).ok(), Some(value));
    }
}
