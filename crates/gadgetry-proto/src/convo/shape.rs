//! The size and shape of a long text, and what to say of one whose lines are too long to page through.

/// Longer lines make a text of few lines dense.
const DENSE_LINE: usize = 4_000;

/// Text of more lines is never called dense.
const DENSE_LINES: usize = 3;

/// Characters that a tip suggests to read at once.
pub(super) const CHUNK: usize = 2_000;

/// The length of a text.
pub(super) struct Shape {
    pub(super) bytes: usize,
    pub(super) chars: usize,
    /// Line breaks plus one.
    pub(super) lines: usize,
    /// Characters of the longest line.
    pub(super) longest: usize,
}

impl Shape {
    pub(super) fn of(text: &str) -> Self {
        let mut shape = Self {
            bytes: text.len(),
            chars: 0,
            lines: 0,
            longest: 0,
        };
        for line in text.split('\n') {
            let chars = line.chars().count();
            shape.lines += 1;
            shape.chars += chars;
            shape.longest = shape.longest.max(chars);
        }
        shape.chars += shape.lines - 1;
        shape
    }

    /// Returns `true` if it is hopeless to read the text by lines where `max_chars` characters are shown at once.
    pub(super) fn is_dense(&self, max_chars: usize) -> bool {
        self.lines <= DENSE_LINES && (self.longest > max_chars || self.longest >= DENSE_LINE)
    }

    /// The advice to read by characters, after the first `skip` ones.
    pub(super) fn tip(&self, skip: usize) -> String {
        let lines = if self.lines == 1 { "line" } else { "lines" };
        format!(
            "This output is dense ({} {lines}; longest line {} chars). \
             Try mode: \"character\", limit: \"{}-{}\".",
            self.lines,
            self.longest,
            skip + 1,
            (skip + CHUNK).min(self.chars),
        )
    }
}
