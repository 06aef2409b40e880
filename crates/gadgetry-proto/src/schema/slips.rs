//! Departures from the written rules that leave one reading only.

use std::fmt;

/// A set of slips. Displays as a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slips(u8);

impl Slips {
    pub(crate) const NONE: Self = Self(0);
    /// A raw line break, or another control character, in a string of JSON.
    pub(crate) const RAW_CONTROLS: Self = Self(1);
    /// A comma after the last element.
    pub(crate) const TRAILING_COMMA: Self = Self(1 << 1);
    /// A comment in JSON.
    pub(crate) const COMMENT: Self = Self(1 << 2);
    /// Single quotes around a string of JSON, or escaped in it.
    pub(crate) const SINGLE_QUOTES: Self = Self(1 << 3);
    /// `True`, `False` or `None`.
    pub(crate) const PYTHON: Self = Self(1 << 4);
    /// Quotes around a value that is not a string, or around a member of an `enum`.
    pub(crate) const QUOTED: Self = Self(1 << 5);
    /// One value where an array belongs.
    pub(crate) const ONE_ELEMENT: Self = Self(1 << 6);
    /// A number or boolean of JSON where text belongs.
    pub(crate) const NOT_TEXT: Self = Self(1 << 7);

    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl fmt::Display for Slips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::RAW_CONTROLS, "raw line breaks or control characters"),
            (Self::TRAILING_COMMA, "a trailing comma"),
            (Self::COMMENT, "a comment"),
            (Self::SINGLE_QUOTES, "single quotes"),
            (Self::PYTHON, "a Python literal"),
            (Self::QUOTED, "quotes around the value"),
            (Self::ONE_ELEMENT, "one value for an array"),
            (Self::NOT_TEXT, "a number or boolean for text"),
        ];
        let mut first = true;
        for (slip, name) in names {
            if self.has(slip) {
                let comma = if first { "" } else { ", " };
                write!(f, "{comma}{name}")?;
                first = false;
            }
        }
        Ok(())
    }
}
