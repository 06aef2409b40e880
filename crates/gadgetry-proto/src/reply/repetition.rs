//! Text that repeats itself without end, found line by line.

use serde::{Deserialize, Serialize};

/// Lines of the longest period that is found.
const PERIOD: usize = 4;

/// Letters of a line that counts in full. A shorter one has to be repeated more often.
const LETTERS: u64 = 8;

/// Factor of the limit for lines that are content: in a value, in a code fence, in a custom block.
const IN_CONTENT: u64 = 4;

/// The lines so far: a few numbers, whatever the length of the text.
///
/// Whitespace does not count, and neither do lines without a letter, such as blank ones, braces and rows of numbers: they
/// are as if they were not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Repetition {
    line: LineDigest,
    /// The last lines, the latest first.
    last: [u64; PERIOD],
    /// Runs by period: the number of successive lines that equal the line that number of lines before, and their letters.
    runs: [(u64, u64); PERIOD],
    in_fence: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct LineDigest {
    hash: u64,
    letters: u64,
    /// The fence characters that it begins with.
    ticks: u8,
    /// Whether something else follows them.
    has_text: bool,
}

/// How a byte counts.
#[derive(Clone, Copy, PartialEq)]
enum Class {
    Whitespace,
    Fence,
    Letter,
    Other,
}

/// The class of each byte: every byte of every reply is looked up here.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Letter; 256];
    let mut byte = 0_u8;
    while byte.is_ascii() {
        classes[byte as usize] = match byte {
            _ if byte.is_ascii_whitespace() => Class::Whitespace,
            _ if byte.is_ascii_alphabetic() => Class::Letter,
            b'`' | b'~' => Class::Fence,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

impl Repetition {
    /// Reads text up to the end of a line that makes it a repetition, and returns the bytes up to there; `None` if no line
    /// does. `limit` is how often a line may be written in succession; 0 is without limit.
    pub(super) fn read(&mut self, text: &str, limit: u32) -> Option<usize> {
        let mut start = 0;
        for at in memchr::memchr_iter(b'\n', text.as_bytes()) {
            self.line.read(&text.as_bytes()[start..at]);
            start = at + 1;
            if self.end_line(u64::from(limit)) {
                return Some(start);
            }
        }
        self.line.read(&text.as_bytes()[start..]);
        None
    }

    /// Returns `true` if the text is a repetition even if it is content.
    pub(super) fn is_endless(&self, limit: u32) -> bool {
        self.passes(u64::from(limit) * IN_CONTENT)
    }

    /// Returns `true` if the text is in a code fence.
    pub(super) fn in_fence(&self) -> bool {
        self.in_fence
    }

    fn end_line(&mut self, limit: u64) -> bool {
        let line = std::mem::take(&mut self.line);
        self.in_fence ^= line.ticks >= 3;
        if line.letters == 0 {
            return false;
        }
        let hash = line.hash;
        let mut repeats = false;
        for (run, last) in self.runs.iter_mut().zip(self.last) {
            *run = if last == hash {
                repeats = true;
                (run.0 + 1, run.1 + line.letters)
            } else {
                (0, 0)
            };
        }
        let [first, second, third, _] = self.last;
        self.last = [hash, first, second, third];
        // A limit of one is passed by any line, so it is not asked for a repetition first.
        (repeats || limit == 1) && self.passes(limit)
    }

    fn passes(&self, limit: u64) -> bool {
        let runs = (1_u64..).zip(self.runs);
        let mut long = runs.map(|(period, (lines, letters))| {
            // The first round does not count as a repetition.
            lines >= period * limit.saturating_sub(1)
                && letters >= LETTERS * limit.saturating_sub(1)
        });
        limit > 0 && long.any(|is_long| is_long)
    }
}

impl LineDigest {
    fn read(&mut self, bytes: &[u8]) {
        // Kept apart, so that the loop has them in registers.
        let (mut hash, mut letters) = (self.hash, self.letters);
        for &byte in bytes {
            let class = CLASSES[usize::from(byte)];
            if class == Class::Whitespace {
                continue;
            }
            if !self.has_text {
                self.has_text = class != Class::Fence;
                self.ticks = self.ticks.saturating_add(u8::from(!self.has_text));
            }
            letters += u64::from(class == Class::Letter);
            hash = step(hash, byte);
        }
        (self.hash, self.letters) = (hash, letters);
    }
}

/// FNV-1a, from 0 for an empty line.
fn step(hash: u64, byte: u8) -> u64 {
    ((hash ^ 0xcbf2_9ce4_8422_2325) ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the number of lines that are read before the text ends, in any cut.
    #[track_caller]
    fn check(text: &str, expected: Option<usize>) {
        let mut whole = Repetition::default();
        let end = whole.read(text, 10);
        let lines = |end: usize| text[..end].matches('\n').count();
        assert_eq!(end.map(lines), expected, "{text}");
        let mut cut = Repetition::default();
        let mut ends = text.char_indices().filter_map(|(at, c)| {
            let end = cut.read(c.encode_utf8(&mut [0; 4]), 10)?;
            Some(at + end)
        });
        assert_eq!(ends.next(), end, "char by char: {text}");
    }

    #[test]
    fn the_same_line_ten_times() {
        for (text, expected) in [
            ("The same words.\n".repeat(9), None),
            ("The same words.\n".repeat(10), Some(10)),
            ("The same words.\n".repeat(50), Some(10)),
            // However it is laid out.
            ("  The same words.\r\n\n".repeat(50), Some(19)),
            ("x\n".to_owned() + &"The same words.\n".repeat(50), Some(11)),
            // Other lines begin again.
            (
                ("The same words.\n".repeat(9) + "And others.\n").repeat(3),
                None,
            ),
            // The shorter, the more often.
            ("Yes, I do.\n".repeat(50), Some(13)),
            ("Yes.\n".repeat(50), Some(25)),
            ("- a\n".repeat(72), None),
            ("- a\n".repeat(73), Some(73)),
            // A line that no line break ends is not one yet.
            ("The same words.\n".repeat(9) + "The same words.", None),
            // Lines without letters do not count.
            ("}\n".repeat(500), None),
            ("| 0 | 0.00 | 0 |\n".repeat(500), None),
            ("\n".repeat(500), None),
            ("|---|---|\n".repeat(500), None),
            // Periods of a few lines.
            ("One, two.\nThree.\n".repeat(20), Some(20)),
            ("One.\nTwo.\n\nThree.\nFour.\n".repeat(20), Some(50)),
            ("a\nb\nc\nd\nfive lines\n".repeat(50), None),
            // Other letters are letters.
            ("同じことを\n".repeat(50), Some(10)),
        ] {
            check(&text, expected);
        }
    }

    #[test]
    fn fences_are_seen() {
        for (text, expected) in [
            ("a\n```\n", true),
            ("a\n  ```rust\nfn\n", true),
            ("```\na\n```\n", false),
            ("~~~~\n", true),
            ("``\n", false),
            ("a ```\n", false),
        ] {
            let mut lines = Repetition::default();
            assert_eq!(lines.read(text, 10), None);
            assert_eq!(lines.in_fence(), expected, "{text}");
        }
    }

    #[test]
    fn without_a_limit_nothing_is_one() {
        let mut lines = Repetition::default();
        assert_eq!(lines.read(&"The same words.\n".repeat(1_000), 0), None);
        assert!(!lines.is_endless(0));
    }
}
