//! Classes of characters.

use std::fmt::Write as _;

/// Characters in these ranges, or all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) is_negated: bool,
    pub(super) ranges: Vec<(char, char)>,
}

impl Class {
    pub(super) fn of(ranges: &[(char, char)]) -> Self {
        Self {
            is_negated: false,
            ranges: ranges.to_vec(),
        }
    }

    /// All characters but these.
    pub(super) fn not(chars: &[char]) -> Self {
        Self {
            is_negated: true,
            ranges: chars.iter().map(|c| (*c, *c)).collect(),
        }
    }

    /// Takes characters out.
    pub(super) fn without(mut self, range: (char, char)) -> Self {
        if self.is_negated {
            if !self.ranges.contains(&range) {
                self.ranges.push(range);
            }
            return self;
        }
        let (from, to) = range;
        let mut kept = Vec::new();
        for (low, high) in self.ranges {
            if high < from || low > to {
                kept.push((low, high));
                continue;
            }
            if low < from
                && let Some(before) = before(from)
            {
                kept.push((low, before));
            }
            if high > to
                && let Some(after) = after(to)
            {
                kept.push((after, high));
            }
        }
        self.ranges = kept;
        self
    }

    pub(super) fn contains(&self, c: char) -> bool {
        self.ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&c))
            != self.is_negated
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.is_negated && self.ranges.is_empty()
    }

    /// As the notation writes it.
    pub(super) fn text(&self) -> String {
        let mut out = String::from(if self.is_negated { "[^" } else { "[" });
        for (from, to) in &self.ranges {
            push(&mut out, *from);
            if from != to {
                out.push('-');
                push(&mut out, *to);
            }
        }
        out.push(']');
        out
    }
}

fn before(c: char) -> Option<char> {
    char::from_u32(u32::from(c).checked_sub(1)?)
}

fn after(c: char) -> Option<char> {
    char::from_u32(u32::from(c) + 1)
}

fn push(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        ']' | '[' | '\\' | '"' => out.extend(['\\', c]),
        // Both have a meaning in some places, and no escape that all engines read.
        '-' | '^' => {
            let _ = write!(out, "\\x{:02X}", u32::from(c));
        }
        c if u32::from(c) < 0x20 || u32::from(c) == 0x7f => {
            let _ = write!(out, "\\x{:02X}", u32::from(c));
        }
        c => out.push(c),
    }
}
