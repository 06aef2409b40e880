//! Input, as it arrives: text of any bytes, and lines.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, BufReader, Read};
use std::num::NonZeroUsize;
use std::path::Path;

use gadgetry_files as files;

use crate::error::Error;
use crate::printer::Printer;

/// Bytes asked for at once.
const BLOCK: usize = 64 << 10;
/// Bytes of one line. A block may have 32 MiB, and JSON may write each as `\\u0000`.
const LINE: u64 = 256 << 20;
/// Byte order mark, which some editors write at the beginning of a file.
const BOM: &[u8] = b"\xef\xbb\xbf";
/// The longest beginning of a character that is not the whole of it.
const PARTIAL: usize = 3;

/// A file, or stdin if its name is `-`.
pub(crate) struct Input {
    name: String,
    source: Box<dyn Read>,
}

impl Input {
    /// Opens the file, or stdin.
    pub(crate) fn open(file: &OsStr) -> Result<Self, Error> {
        if file == "-" {
            return Ok(Self {
                name: "stdin".to_owned(),
                source: Box::new(io::stdin().lock()),
            });
        }
        let name = file.display().to_string();
        match files::open(Path::new(file)) {
            Ok(file) => Ok(Self {
                name,
                source: Box::new(file),
            }),
            Err(error) => Err(unreadable(name, &error)),
        }
    }

    /// Yields the text as it arrives; what is not UTF-8 becomes U+FFFD, as in [`String::from_utf8_lossy`], wherever a
    /// read cuts it. Flushes the output before it waits.
    pub(crate) fn texts(
        mut self,
        printer: &Printer,
        mut text: impl FnMut(&str, &Printer) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut block = vec![0; PARTIAL + BLOCK];
        // Bytes at the start of the block that may become a character.
        let mut partial = 0;
        loop {
            printer.flush()?;
            let read = match self.source.read(&mut block[partial..]) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(&self.name, &error)),
            };
            let end = partial + read;
            let mut at = 0;
            for piece in block[..end].utf8_chunks() {
                let (valid, invalid) = (piece.valid(), piece.invalid());
                at += valid.len();
                if !valid.is_empty() {
                    text(valid, printer)?;
                }
                if invalid.is_empty() || (at + invalid.len() == end && is_partial(invalid)) {
                    break;
                }
                at += invalid.len();
                text("\u{FFFD}", printer)?;
            }
            block.copy_within(at..end, 0);
            partial = end - at;
        }
        if partial == 0 {
            Ok(())
        } else {
            text("\u{FFFD}", printer)
        }
    }

    /// Yields each non-blank line, without its end, with its number from 1; a leading byte order mark is skipped.
    /// Flushes the output before it waits.
    pub(crate) fn lines(
        self,
        printer: &Printer,
        mut line: impl FnMut(usize, &[u8], &Printer) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut source = BufReader::with_capacity(BLOCK, self.source);
        let mut bytes = Vec::new();
        for number in 1.. {
            if !source.buffer().contains(&b'\n') {
                printer.flush()?;
            }
            bytes.clear();
            let read = files::line(&mut source, &mut bytes, LINE);
            if read.map_err(|error| unreadable(&self.name, &error))? == 0 {
                break;
            }
            let whole = if number == 1 {
                without_bom(&bytes)
            } else {
                &bytes
            };
            let trimmed = whole.trim_ascii();
            if !trimmed.is_empty() {
                line(number, trimmed, printer)?;
                printer.flush_if_full()?;
            }
        }
        Ok(())
    }
}

/// The bytes without the byte order mark with which they may begin.
pub(crate) fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BOM).unwrap_or(bytes)
}

/// Returns whether bytes are the beginning of a character.
fn is_partial(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// The user's mistake, most likely.
pub(crate) fn unreadable(name: impl Display, error: &io::Error) -> Error {
    Error::input(format_args!("cannot read {name}: {error}"))
}

/// Cuts text into pieces of one size, whatever the pieces in which it comes.
#[derive(Debug)]
pub(crate) struct Pieces {
    size: NonZeroUsize,
    waiting: String,
}

impl Pieces {
    /// Pieces of `size` bytes, or less where a character would be cut; at least one character.
    pub(crate) fn new(size: NonZeroUsize) -> Self {
        Self {
            size,
            waiting: String::new(),
        }
    }

    /// Yields the pieces that are complete.
    pub(crate) fn push(&mut self, text: &str, mut piece: impl FnMut(&str)) {
        self.waiting.push_str(text);
        let waiting = self.waiting.as_str();
        let mut at = 0;
        while waiting.len() - at >= self.size.get() {
            let end = match waiting.floor_char_boundary(at + self.size.get()) {
                end if end == at => waiting.ceil_char_boundary(at + 1),
                end => end,
            };
            piece(&waiting[at..end]);
            at = end;
        }
        self.waiting.drain(..at);
    }

    /// The rest, which is shorter than a piece.
    pub(crate) fn rest(&self) -> &str {
        &self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out its bytes a few at a time.
    struct Drip(Vec<u8>, usize);

    impl Read for Drip {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    #[test]
    fn any_bytes_are_text_wherever_a_read_cuts_them() {
        let rows: [&[u8]; 8] = [
            b"",
            b"plain",
            "é€😀é".as_bytes(),
            b"\xff\xfe",
            b"a\xe2\x82",
            b"a\xe2\x82b\xf0\x9f\x98",
            b"\xf0\x9f\x98\x80\xf0\x9f\xe2\x82\xac",
            b"\xed\xa0\x80\xc0\xafx\xf4\x90\x80\x80",
        ];
        for bytes in rows {
            for size in 1..6 {
                let source = Box::new(Drip(bytes.to_vec(), size));
                let input = Input {
                    name: String::new(),
                    source,
                };
                let mut got = String::new();
                let done = input.texts(&Printer::default(), |text, _| {
                    got.push_str(text);
                    Ok(())
                });
                assert!(done.is_ok());
                assert_eq!(got, String::from_utf8_lossy(bytes), "{bytes:x?} by {size}");
            }
        }
    }

    #[test]
    fn pieces_have_one_size_whatever_arrives() {
        let check = |arriving: &[&str], size: usize, expected: &[&str]| {
            let mut pieces = Pieces::new(NonZeroUsize::new(size).unwrap());
            let mut got = Vec::new();
            for text in arriving {
                pieces.push(text, |piece| got.push(piece.to_owned()));
            }
            got.push(pieces.rest().to_owned());
            assert_eq!(got, expected, "{arriving:?} by {size}");
        };
        check(&["abcdefg"], 3, &["abc", "def", "g"]);
        check(&["a", "bcd", "", "efg"], 3, &["abc", "def", "g"]);
        check(&["aé€"], 2, &["a", "é", "€", ""]);
        check(&["€€"], 4, &["€", "€"]);
        check(&["😀"], 1, &["😀", ""]);
        check(&[], 5, &[""]);
    }
}
