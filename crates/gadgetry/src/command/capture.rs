//! What a program writes, kept within bounds.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

const CHUNK: usize = 64 * 1024;

/// Reads all of `pipe` into `buffer`; whether that ended within `cap` bytes. What was read stays if it is dropped.
pub(super) async fn read_within(
    mut pipe: impl AsyncRead + Unpin,
    buffer: &mut Vec<u8>,
    cap: usize,
) -> io::Result<bool> {
    loop {
        buffer.reserve(CHUNK);
        if pipe.read_buf(buffer).await? == 0 {
            return Ok(true);
        }
        if buffer.len() > cap {
            return Ok(false);
        }
    }
}

/// The end of what was written: the last lines of a long log are the ones that say what went wrong.
#[derive(Default)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    dropped: bool,
}

impl Tail {
    /// Reads all of `pipe` and keeps at least the last `cap` bytes. What was read stays if it is dropped.
    pub(super) async fn read(
        &mut self,
        mut pipe: impl AsyncRead + Unpin,
        cap: usize,
    ) -> io::Result<()> {
        loop {
            self.bytes.reserve(CHUNK);
            if pipe.read_buf(&mut self.bytes).await? == 0 {
                return Ok(());
            }
            if self.bytes.len() > 2 * cap {
                self.bytes.drain(..self.bytes.len() - cap);
                self.dropped = true;
            }
        }
    }

    /// The last `cap` bytes as trimmed text, with a note in front if there was more.
    pub(super) fn text(&self, cap: usize) -> String {
        let start = self.bytes.len().saturating_sub(cap);
        let text = String::from_utf8_lossy(&self.bytes[start..]);
        let text = text.trim();
        if start > 0 || self.dropped {
            format!("[only the end of stderr is kept]\n{text}")
        } else {
            text.to_owned()
        }
    }
}
