//! Text that repeats itself without end, found line by line, and word by word in a line that does not end.

use serde::{Deserialize, Serialize};

/// Lines of the longest period that is found.
const PERIOD: usize = 4;

/// Letters of a line that counts in full. A shorter one has to be repeated more often.
const LETTERS: u64 = 8;

/// Factor of the limit for lines that are content: in a value, in a code fence, in a custom block.
const IN_CONTENT: u64 = 4;

/// Factor of the limit for words: a sentence may well repeat one.
const OF_WORDS: u64 = 4;

/// Letters after which a line is long, and its words and sentences count. Few lines of prose are, so words cost nothing until then.
const LONG_LINE: u64 = 1_000;

/// The lines so far: a few numbers, whatever the length of the text.
///
/// Whitespace does not count, and neither do lines without a letter, such as blank ones, braces and rows of numbers: they
/// are as if they were not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Repetition {
    line: Digest,
    lines: Runs,
    /// The rest of a long line.
    long: Option<Box<LongLine>>,
    in_fence: bool,
}

/// What follows in a line that is long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct LongLine {
    word: Digest,
    /// The last byte of `word`.
    word_end: u8,
    words: Runs,
    sentence: Digest,
    sentences: Runs,
}

/// Successive lines, words or sentences.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Runs {
    /// The last ones, the latest first.
    last: [u64; PERIOD],
    /// Runs by period: the number of successive ones that equal the one that number before, and their letters.
    runs: [(u64, u64); PERIOD],
}

/// The hash of an empty text.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Digest {
    /// With [`BASIS`] taken away, so that it is 0 for an empty text.
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
    /// Reads text up to the end of a line or word that makes it a repetition, and returns the bytes up to there; `None` if
    /// none does. `limit` is how often a line may be written in succession; 0 is without limit.
    pub(super) fn read(&mut self, text: &str, limit: u32) -> Option<usize> {
        let limit = u64::from(limit);
        let bytes = text.as_bytes();
        let mut start = 0;
        for at in memchr::memchr_iter(b'\n', bytes) {
            if let Some(end) = self.read_line(&bytes[start..at], limit) {
                return Some(start + end);
            }
            start = at + 1;
            if self.end_line(limit) {
                return Some(start);
            }
        }
        let end = self.read_line(&bytes[start..], limit)?;
        Some(start + end)
    }

    /// Returns `true` if the text is a repetition even if it is content.
    pub(super) fn is_endless(&self, limit: u32) -> bool {
        let limit = u64::from(limit) * IN_CONTENT;
        let of_line = |line: &LongLine| line.passes(limit);
        self.lines.passes(limit) || self.long.as_deref().is_some_and(of_line)
    }

    /// Returns `true` if the text is in a code fence.
    pub(super) fn in_fence(&self) -> bool {
        self.in_fence
    }

    /// Reads a part of a line, or up to the end of a word that makes it a repetition.
    #[inline]
    fn read_line(&mut self, bytes: &[u8], limit: u64) -> Option<usize> {
        // As many bytes have at most as many letters.
        if self.line.letters + bytes.len() as u64 <= LONG_LINE {
            self.line.read(bytes);
            return None;
        }
        self.read_long_line(bytes, limit)
    }

    fn read_long_line(&mut self, bytes: &[u8], limit: u64) -> Option<usize> {
        let mut start = 0;
        // The line becomes long at the same letter in any cut.
        while self.line.letters < LONG_LINE && start < bytes.len() {
            let room = usize::try_from(LONG_LINE - self.line.letters).unwrap_or(usize::MAX);
            let end = bytes.len().min(start.saturating_add(room));
            self.line.read(&bytes[start..end]);
            start = end;
        }
        let rest = &bytes[start..];
        self.line.read(rest);
        if limit == 0 || rest.is_empty() {
            return None;
        }
        let end = self.long.get_or_insert_default().read(rest, limit)?;
        Some(start + end)
    }

    fn end_line(&mut self, limit: u64) -> bool {
        let line = std::mem::take(&mut self.line);
        self.long = None;
        self.in_fence ^= line.ticks >= 3;
        line.letters > 0 && self.lines.add(&line, limit)
    }
}

impl LongLine {
    fn read(&mut self, bytes: &[u8], limit: u64) -> Option<usize> {
        let is_space = |byte: &u8| CLASSES[usize::from(*byte)] == Class::Whitespace;
        let mut start = 0;
        loop {
            let rest = &bytes[start..];
            let end = rest.iter().position(is_space);
            let part = &rest[..end.unwrap_or(rest.len())];
            self.word.read(part);
            self.sentence.read(part);
            self.word_end = part.last().copied().unwrap_or(self.word_end);
            start += end? + 1;
            if self.end_word(limit) {
                return Some(start);
            }
        }
    }

    fn end_word(&mut self, limit: u64) -> bool {
        let word = std::mem::take(&mut self.word);
        let ends_sentence = matches!(self.word_end, b'.' | b'!' | b'?');
        // A number is a word, without letters: `Row 1 is fine. Row 2 is fine.` repeats nothing.
        let by_words = word.hash != 0 && self.words.add(&word, limit * OF_WORDS);
        by_words
            || ends_sentence
                && self
                    .sentences
                    .add(&std::mem::take(&mut self.sentence), limit)
    }

    fn passes(&self, limit: u64) -> bool {
        self.words.passes(limit * OF_WORDS) || self.sentences.passes(limit)
    }
}

impl Runs {
    /// Adds the next one, and returns whether it makes a repetition.
    fn add(&mut self, next: &Digest, limit: u64) -> bool {
        let mut repeats = false;
        for (run, last) in self.runs.iter_mut().zip(self.last) {
            *run = if last == next.hash {
                repeats = true;
                (run.0 + 1, run.1 + next.letters)
            } else {
                (0, 0)
            };
        }
        let [first, second, third, _] = self.last;
        self.last = [next.hash, first, second, third];
        // A limit of one is passed by any, so it is not asked for a repetition first.
        (repeats || limit == 1) && self.passes(limit)
    }

    fn passes(&self, limit: u64) -> bool {
        let runs = (1_u64..).zip(self.runs);
        let mut long = runs.map(|(period, (count, letters))| {
            // The first round does not count as a repetition.
            count >= period * limit.saturating_sub(1)
                && letters >= LETTERS * limit.saturating_sub(1)
        });
        limit > 0 && long.any(|is_long| is_long)
    }
}

impl Digest {
    fn read(&mut self, mut bytes: &[u8]) {
        // Kept apart, so that the loop has them in registers.
        let (mut hash, mut letters) = (self.hash ^ BASIS, self.letters);
        while !self.has_text
            && let [byte, rest @ ..] = bytes
        {
            match CLASSES[usize::from(*byte)] {
                Class::Whitespace => {}
                Class::Fence => {
                    self.ticks = self.ticks.saturating_add(1);
                    hash = step(hash, *byte);
                }
                Class::Letter | Class::Other => {
                    self.has_text = true;
                    break;
                }
            }
            bytes = rest;
        }
        for &byte in bytes {
            let class = CLASSES[usize::from(byte)];
            if class != Class::Whitespace {
                letters += u64::from(class == Class::Letter);
                hash = step(hash, byte);
            }
        }
        (self.hash, self.letters) = (hash ^ BASIS, letters);
    }
}

/// Adds a byte to a hash, by FNV-1a.
fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
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

    /// Checks the number of letters that are read before the text ends, in any cut.
    #[track_caller]
    fn check_long(text: &str, expected: Option<usize>) {
        let end = Repetition::default().read(text, 10);
        let letters = |end: usize| text[..end].chars().filter(|c| c.is_alphabetic()).count();
        assert_eq!(
            end.map(letters),
            expected,
            "{:.80}",
            &text[text.len() / 2..]
        );
        for size in [1, 7, 64, 999, 1_001] {
            let mut cut = Repetition::default();
            let pieces = text.as_bytes().chunks(size).enumerate();
            let mut ends = pieces.filter_map(|(index, piece)| {
                let end = cut.read(std::str::from_utf8(piece).expect("ASCII"), 10)?;
                Some(index * size + end)
            });
            assert_eq!(ends.next(), end, "by {size}: {text:.80}");
        }
    }

    #[test]
    fn a_line_without_end() {
        let lead = "x".repeat(1_000) + " ";
        let rows = (0..1_000).map(|number| format!("Row {number} is fine. "));
        let rows: Vec<_> = rows.collect();
        for (text, expected) in [
            // One to four words: forty times, and the first round is none.
            ("I'm sorry, ".repeat(1_000), Some(1_323)),
            (lead.clone() + &"gadget ".repeat(1_000), Some(1_318)),
            (lead.clone() + &"no, no, it is ".repeat(1_000), Some(1_320)),
            (lead.clone() + &"gadget ".repeat(52), None),
            // A longer sentence ten times.
            (
                lead.clone() + &"The number of lamps is 42 in all. ".repeat(1_000),
                Some(1_230),
            ),
            (
                lead.clone() + &"The number of lamps is 42 in all. ".repeat(9),
                None,
            ),
            // Not all that is long repeats itself, and numbers may.
            (lead.clone() + &"0, 17, -3.5, ".repeat(1_000), None),
            (rows.concat(), None),
            // A line that ends begins again.
            (
                (lead.clone() + &"gadget ".repeat(40) + "\n").repeat(5),
                None,
            ),
        ] {
            check_long(&text, expected);
        }
        let mut endless = Repetition::default();
        let mut read = |times| {
            _ = endless.read(&"gadget ".repeat(times), 10);
            endless.is_endless(10)
        };
        assert!(!read(300));
        // Text is read up to the word that makes it a repetition.
        assert!((0..1_000).any(|_| read(1)));
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
