//! Argument lines that hold more than a pointer, or none: guesses what was meant, to show the right form.

use crate::error::ParseError;

/// Characters of a line that are quoted.
const QUOTED: usize = 80;

/// Returns the error for an argument line that holds more than a pointer, or none, with what was probably meant.
pub(super) fn error(pointer: &str, text: &str, marker: &str) -> ParseError {
    let (name, value) = match pointer.split_once(char::is_whitespace) {
        Some((name, value)) => (name, value.trim_start_matches([':', '=', ' ', '\t'])),
        None => ("name", text.lines().next().unwrap_or_default()),
    };
    let name = name.trim_end_matches([':', '=']);
    ParseError::MalformedArgumentLine {
        line: cut(&format!("{marker}{pointer}")),
        marker: marker.to_owned(),
        name: if name.is_empty() { "name" } else { name }.to_owned(),
        value: if value.is_empty() {
            "value".to_owned()
        } else {
            cut(value)
        },
    }
}

/// The slip of a pointer that is written as RFC 6901 has it.
pub(super) fn leading_slash(pointer: &str, marker: &str) -> ParseError {
    let right = pointer.trim_start_matches('/');
    ParseError::LeadingSlash {
        line: cut(&format!("{marker}{pointer}")),
        right: cut(&format!(
            "{marker}{}",
            if right.is_empty() { "name" } else { right }
        )),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
