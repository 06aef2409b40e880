//! The messages that a server writes, one a line, none longer or nested more deeply than the limits.

use std::io;

use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// A message of a server may have this many bytes.
pub(super) const MESSAGE_LIMIT: usize = 16 << 20;

/// Levels of arrays and objects in a message. What reads it takes no more, and would say nothing to the call.
const LEVELS: usize = 127;

/// Number of bytes at the beginning and the end of a longer message that are searched for its id.
const ENDS: usize = 1024;

/// Passes on the lines of `from`, until one of both ends.
///
/// A line beyond `limit`, or beyond [`LEVELS`], is replaced by an error with the id of its request, so that the call fails at once, and
/// the others continue. One that is too long is never in memory as a whole.
pub(super) async fn pass_on(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    limit: usize,
) -> io::Result<()> {
    let mut chunk = vec![0; 64 * 1024];
    let mut line = Line::default();
    loop {
        let read = from.read(&mut chunk).await?;
        if read == 0 {
            return Ok(());
        }
        let mut rest = &chunk[..read];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            line.push(&rest[..end], limit);
            to.write_all(&line.take(limit)).await?;
            rest = &rest[end + 1..];
        }
        line.push(rest, limit);
    }
}

/// A line while it arrives.
#[derive(Default)]
struct Line {
    /// All of it; of one that is too long the beginning.
    bytes: Vec<u8>,
    /// End of a line that is too long.
    end: Vec<u8>,
    is_too_long: bool,
    levels: Levels,
}

/// Returns the depth of nesting of a line.
#[derive(Default)]
struct Levels {
    now: usize,
    most: usize,
    in_text: bool,
    is_escaped: bool,
}

impl Levels {
    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match (self.in_text, byte) {
                (true, _) if self.is_escaped => self.is_escaped = false,
                (true, b'\\') => self.is_escaped = true,
                (_, b'"') => self.in_text = !self.in_text,
                (false, b'[' | b'{') => {
                    self.now += 1;
                    self.most = self.most.max(self.now);
                }
                (false, b']' | b'}') => self.now = self.now.saturating_sub(1),
                _ => {}
            }
        }
    }
}

impl Line {
    fn push(&mut self, bytes: &[u8], limit: usize) {
        if !self.is_too_long {
            self.levels.push(bytes);
        }
        if !self.is_too_long && self.bytes.len() + bytes.len() <= limit {
            self.bytes.extend_from_slice(bytes);
            return;
        }
        if !self.is_too_long {
            self.is_too_long = true;
            let room = ENDS.saturating_sub(self.bytes.len()).min(bytes.len());
            self.bytes.extend_from_slice(&bytes[..room]);
            self.bytes.truncate(ENDS);
            self.bytes.shrink_to_fit();
        }
        self.end
            .extend_from_slice(&bytes[bytes.len().saturating_sub(ENDS)..]);
        let excess = self.end.len().saturating_sub(ENDS);
        self.end.drain(..excess);
    }

    /// The line with its newline, or what replaces it.
    fn take(&mut self, limit: usize) -> Vec<u8> {
        let Self {
            mut bytes,
            mut end,
            is_too_long,
            levels,
        } = std::mem::take(self);
        if is_too_long || levels.most > LEVELS {
            let most = if is_too_long {
                format!("has more than {} MiB", limit >> 20)
            } else {
                end = bytes[bytes.len().saturating_sub(ENDS)..].to_vec();
                bytes.truncate(ENDS);
                format!("is nested more than {LEVELS} levels deep")
            };
            let message = format!("the answer {most}; call it with parameters that give less");
            let Some(id) = id_in(&bytes, Id::First).or_else(|| id_in(&end, Id::Last)) else {
                tracing::warn!("a message of a server is too large and has no id; it is ignored");
                return Vec::new();
            };
            let error = json!({ "code": TOO_LARGE, "message": message });
            bytes = json!({ "jsonrpc": "2.0", "id": id, "error": error })
                .to_string()
                .into_bytes();
        }
        bytes.push(b'\n');
        bytes
    }
}

/// The code of the error that replaces a message that is too long.
pub(super) const TOO_LARGE: i32 = -32_099;

#[derive(Clone, Copy)]
enum Id {
    /// Before the result, as most servers write it.
    First,
    /// After the result.
    Last,
}

/// The number after `"id":`, if it belongs to the message itself and not to something in its result.
fn id_in(bytes: &[u8], which: Id) -> Option<u64> {
    let text = String::from_utf8_lossy(bytes);
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let key = "\"id\":";
    let at = match which {
        Id::First => text.find(key),
        Id::Last => text.rfind(key),
    }?;
    let (before, number) = (&text[..at], &text[at + key.len()..]);
    let digits = number.find(|c: char| !c.is_ascii_digit())?;
    let after = &number[digits..];
    let is_the_message = match which {
        Id::First => after.starts_with(',') && ["{", "{\"jsonrpc\":\"2.0\","].contains(&before),
        Id::Last => ["}", ",\"jsonrpc\":\"2.0\"}"].contains(&after),
    };
    is_the_message.then(|| number[..digits].parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::{ENDS, LEVELS, pass_on};

    async fn passed(text: &str, limit: usize) -> String {
        let mut out = Vec::new();
        pass_on(text.as_bytes(), &mut out, limit).await.unwrap();
        String::from_utf8(out).unwrap()
    }

    #[tokio::test]
    async fn long_lines_become_errors() {
        let check = async |line: String, id: Option<u64>| {
            let short = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
            let out = passed(&format!("{short}{line}\n{short}"), 4096).await;
            let out = out.strip_prefix(short).unwrap();
            let out = out.strip_suffix(short).unwrap();
            match id {
                None => assert_eq!(out, ""),
                Some(id) => {
                    let error: serde_json::Value = serde_json::from_str(out).unwrap();
                    assert_eq!(error["id"], id, "{out}");
                    assert!(error["error"]["message"].as_str().unwrap().contains("MiB"));
                }
            }
        };
        let long = "x".repeat(3 * ENDS + 4096);
        let result = format!("{{\"content\":[{{\"id\":9,\"text\":\"{long}\"}}]}}");
        check(
            format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{result}}}"),
            Some(7),
        )
        .await;
        check(
            format!("{{\"result\":{result},\"jsonrpc\":\"2.0\",\"id\":7}}"),
            Some(7),
        )
        .await;
        check(
            format!("{{\"result\":{result},\"id\":7,\"jsonrpc\":\"2.0\"}}"),
            Some(7),
        )
        .await;
        check(format!("{{\"method\":\"x\",\"params\":{result}}}"), None).await;
        check(long, None).await;
    }

    #[tokio::test]
    async fn lines_that_are_nested_deeply_become_errors() {
        let check = async |levels: usize, text: &str, is_passed: bool| {
            let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
            for line in [
                format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{open}{text}{close}}}\n"),
                format!("{{\"result\":{open}{text}{close},\"id\":7,\"jsonrpc\":\"2.0\"}}\n"),
            ] {
                let out = passed(&line, 1 << 20).await;
                assert_eq!(out == line, is_passed, "{levels}");
                let read: serde_json::Value = serde_json::from_str(&out).unwrap();
                assert_eq!(read["id"], 7, "{out}");
                assert_eq!(read["error"].is_null(), is_passed, "{out}");
            }
        };
        check(LEVELS, "1", true).await;
        check(LEVELS, "\"[[\\\"[[\"", true).await;
        check(LEVELS + 1, "1", false).await;
        check(200_000, "", false).await;
    }

    #[tokio::test]
    async fn short_lines_pass() {
        assert_eq!(passed("a\n\nb\nc", 4096).await, "a\n\nb\n");
    }
}
