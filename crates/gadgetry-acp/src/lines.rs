//! Lines of a stream, within a cap.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Bytes of a line: pictures come within one.
pub(crate) const LINE: usize = 64 << 20;

/// A line that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its line break.
    Whole(Vec<u8>),
    /// Longer than the cap, and skipped.
    TooLong,
}

/// Reads the next line, of at most `limit` bytes; `None` at the end of the stream. A last line without a line break counts.
pub(crate) async fn next(
    input: &mut (impl AsyncBufRead + Unpin),
    limit: usize,
) -> io::Result<Option<Line>> {
    let (mut line, mut is_too_long) = (Vec::new(), false);
    loop {
        let piece = input.fill_buf().await?;
        if piece.is_empty() {
            let is_over = line.is_empty() && !is_too_long;
            return Ok((!is_over).then(|| ended(line, is_too_long)));
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let text = &piece[..end.unwrap_or(piece.len())];
        if line.len() + text.len() > limit {
            is_too_long = true;
            line = Vec::new();
        } else if !is_too_long {
            line.extend_from_slice(text);
        }
        let read = end.map_or(piece.len(), |end| end + 1);
        input.consume(read);
        if end.is_some() {
            return Ok(Some(ended(line, is_too_long)));
        }
    }
}

fn ended(line: Vec<u8>, is_too_long: bool) -> Line {
    if is_too_long {
        Line::TooLong
    } else {
        Line::Whole(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_read_within_the_cap() {
        let check = async |text: &str, expected: &[Option<&str>]| {
            // Whatever the pieces.
            for capacity in [1, 3, 64] {
                let mut input = tokio::io::BufReader::with_capacity(capacity, text.as_bytes());
                let mut lines = Vec::new();
                while let Some(line) = next(&mut input, 4).await.expect("it is text") {
                    lines.push(match line {
                        Line::Whole(line) => Some(String::from_utf8(line).expect("UTF-8")),
                        Line::TooLong => None,
                    });
                }
                let lines: Vec<_> = lines.iter().map(Option::as_deref).collect();
                assert_eq!(lines, expected, "{text:?} in pieces of {capacity}");
            }
        };
        check("", &[]).await;
        check("\n", &[Some("")]).await;
        check("a\nbcde\n", &[Some("a"), Some("bcde")]).await;
        check("a\nb", &[Some("a"), Some("b")]).await;
        check("abcde\nx\n", &[None, Some("x")]).await;
        check("abcdefghi", &[None]).await;
        check("x\nabcde", &[Some("x"), None]).await;
    }
}
