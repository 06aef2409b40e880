//! Output of programs, kept within bounds.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _};

const CHUNK: usize = 64 * 1024;

/// Reads all of `pipe` into `buffer`; returns whether that ended within `cap` bytes. If it is dropped, the bytes read so far
/// stay.
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

/// The end of a program's output: the last lines of a long log usually say what went wrong.
#[derive(Default)]
pub struct Tail {
    bytes: Vec<u8>,
    dropped: bool,
}

impl Tail {
    /// Reads all of `pipe` and keeps at least the last `cap` bytes. If it is dropped, the bytes read so far stay.
    pub async fn read(&mut self, mut pipe: impl AsyncRead + Unpin, cap: usize) -> io::Result<()> {
        loop {
            self.bytes.reserve(CHUNK);
            if pipe.read_buf(&mut self.bytes).await? == 0 {
                return Ok(());
            }
            self.shorten(cap);
        }
    }

    /// Adds `bytes`, and keeps at least the last `cap`.
    pub fn push(&mut self, bytes: &[u8], cap: usize) {
        self.bytes.extend_from_slice(bytes);
        self.shorten(cap);
    }

    fn shorten(&mut self, cap: usize) {
        if self.bytes.len() > 2 * cap {
            self.bytes.drain(..self.bytes.len() - cap);
            self.dropped = true;
        }
    }

    /// Returns the last `cap` bytes as trimmed text, after a note if there was more.
    pub fn text(&self, cap: usize) -> String {
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

/// Function that is called with each piece of output.
pub(super) type Watch<'w> = dyn Fn(&[u8]) + Send + Sync + 'w;

/// The beginning and the end of a program's output.
pub(super) struct Ends {
    head: Vec<u8>,
    tail: Tail,
    half: usize,
    total: u64,
}

impl Ends {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: Tail::default(),
            half: limit / 2,
            total: 0,
        }
    }

    /// Reads all of `pipe`. If it is dropped, the bytes read so far stay.
    pub(super) async fn read(
        &mut self,
        mut pipe: impl AsyncRead + Unpin,
        watch: &Watch<'_>,
    ) -> io::Result<()> {
        let mut chunk = Vec::with_capacity(CHUNK);
        loop {
            chunk.clear();
            let read = pipe.read_buf(&mut chunk).await?;
            if read == 0 {
                return Ok(());
            }
            watch(&chunk);
            self.total += read as u64;
            let room = self.half.saturating_sub(self.head.len()).min(read);
            self.head.extend_from_slice(&chunk[..room]);
            self.tail.push(&chunk[room..], self.half);
        }
    }

    /// Returns the text, with a note in place of the omitted part.
    pub(super) fn into_text(mut self) -> String {
        let start = self.tail.bytes.len().saturating_sub(self.half);
        let kept = self.head.len() + self.tail.bytes.len() - start;
        let left_out = self.total - kept as u64;
        if left_out > 0 {
            let note = format!("\n[{left_out} bytes left out]\n");
            self.head.extend_from_slice(note.as_bytes());
        }
        self.head.extend_from_slice(&self.tail.bytes[start..]);
        String::from_utf8_lossy(&self.head).into_owned()
    }
}
