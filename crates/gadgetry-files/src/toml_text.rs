//! TOML that users wrote, with the positions of mistakes: gadget files, the gateway's configuration and that of the command line.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, Error};

/// A problem at an offset of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake<P> {
    /// Offset of the problem, in bytes.
    pub at: usize,
    /// The problem.
    pub problem: P,
}

impl<P> Mistake<P> {
    /// A problem at the beginning of a span.
    pub fn new(span: &Range<usize>, problem: impl Into<P>) -> Self {
        Self {
            at: span.start,
            problem: problem.into(),
        }
    }

    /// The same mistake with another description.
    pub fn map<Q>(self, describe: impl FnOnce(P) -> Q) -> Mistake<Q> {
        Mistake {
            at: self.at,
            problem: describe(self.problem),
        }
    }
}

impl From<Error> for Mistake<String> {
    fn from(error: Error) -> Self {
        Self {
            at: error.span().map_or(0, |span| span.start),
            problem: in_words_of_toml(error.message()),
        }
    }
}

/// Reads a value from TOML.
///
/// # Errors
/// At the first mistake: a syntax error, an unknown key, or a value of the wrong type.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Mistake<String>> {
    Ok(toml::from_str(text)?)
}

/// Reads the tables, keys and values of TOML, each with its position.
///
/// # Errors
/// At the first syntax error.
pub fn document(text: &str) -> Result<Spanned<DeTable<'_>>, Mistake<String>> {
    Ok(DeTable::parse(text)?)
}

/// Line and column of a byte offset, in characters, from 1.
pub fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// Translates `serde`'s names into those of TOML.
fn in_words_of_toml(message: &str) -> String {
    message
        .replace(
            "expected a sequence",
            "expected an array ([…]; of tables: [[…]])",
        )
        .replace("invalid type: map", "invalid type: table")
        .replace("expected a map", "expected a table ({ … })")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        let check = |at: usize, expected: (usize, usize)| {
            assert_eq!(position("aé\nbc\n", at), expected, "{at}");
        };
        check(0, (1, 1));
        check(1, (1, 2));
        // Within a character, and past the end.
        check(2, (1, 2));
        check(3, (1, 3));
        check(4, (2, 1));
        check(5, (2, 2));
        check(100, (3, 1));
    }

    #[test]
    fn mistakes_have_positions() {
        let check = |text: &str, at: usize, problem: &str| {
            let mistake = parse::<std::collections::BTreeMap<String, Vec<u8>>>(text).unwrap_err();
            assert_eq!((mistake.at, mistake.problem.as_str()), (at, problem));
        };
        check(
            "a = { b = 1 }",
            4,
            "invalid type: table, expected an array ([…]; of tables: [[…]])",
        );
        check(
            "a = []\nb = 1",
            11,
            "invalid type: integer `1`, expected an array ([…]; of tables: [[…]])",
        );
        assert_eq!(document("a = 1\na = 2").unwrap_err().at, 6);
        assert!(document("a = 1\nb = { c = [2] }").is_ok());
    }
}
