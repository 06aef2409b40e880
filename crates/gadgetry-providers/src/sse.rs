//! Server-sent events, as the WHATWG specifies them: bytes in, events out. Nothing is awaited.
//!
//! It follows <https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation>, with one
//! addition for servers that close too early: [`Decoder::finish`].

use std::borrow::Cow;

use gadgetry_proto::error::{Classified, Fault};
use memchr::memchr2;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The field `event`, if it was there and not empty.
    pub event: Option<String>,
    /// The `data` lines, joined by line feeds.
    pub data: String,
    /// The last `id` of the stream so far, if it was not empty.
    pub id: Option<String>,
}

impl SseEvent {
    /// An event of data alone.
    pub fn data(data: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            ..Self::default()
        }
    }

    /// An event with a name.
    pub fn named(event: impl Into<String>, data: impl Into<String>) -> Self {
        Self {
            event: Some(event.into()),
            ..Self::data(data)
        }
    }

    /// Adds the event to a stream. A [`Decoder`] reads it back, whatever the data, unless `event` or `id` has a line
    /// break, or `id` a NUL.
    ///
    /// Carriage returns in the data become line feeds: the format has one kind of line end.
    ///
    /// ```
    /// use gadgetry::provider::sse::SseEvent;
    /// let mut stream = String::new();
    /// SseEvent::named("ping", "{}").encode(&mut stream);
    /// assert_eq!(stream, "event: ping\ndata: {}\n\n");
    /// ```
    pub fn encode(&self, out: &mut String) {
        let fields = [("event", &self.event), ("id", &self.id)];
        for (field, value) in fields {
            if let Some(value) = value {
                out.extend([field, ": ", value, "\n"]);
            }
        }
        if memchr2(b'\n', b'\r', self.data.as_bytes()).is_none() {
            out.extend(["data: ", &self.data, "\n\n"]);
            return;
        }
        let data = self.data.replace("\r\n", "\n").replace('\r', "\n");
        for line in data.split('\n') {
            // With a space after the colon, because a space at the start of the line is dropped.
            out.extend(["data: ", line, "\n"]);
        }
        out.push('\n');
    }
}

/// Turns the bytes of an event stream into events, however they are cut.
///
/// Lines end with CRLF, CR or LF; a byte order mark at the start and comments are ignored; bytes that are not UTF-8
/// become U+FFFD, unless the rest of the character arrives later. The work is linear in the bytes.
///
/// ```
/// use gadgetry::provider::sse::Decoder;
/// let mut decoder = Decoder::new();
/// let mut events = Vec::new();
/// decoder.feed(b"event: ping\ndata: {\"a\"", &mut events)?;
/// decoder.feed(b":1}\n\n", &mut events)?;
/// assert_eq!(events[0].event.as_deref(), Some("ping"));
/// assert_eq!(events[0].data, "{\"a\":1}");
/// # Ok::<(), gadgetry::provider::sse::Oversized>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decoder {
    limit: usize,
    /// The part of an unfinished line that has arrived.
    line: Vec<u8>,
    /// True if the last byte was a CR, so that a LF belongs to it.
    after_cr: bool,
    /// True if no line has ended yet, so that a byte order mark may follow.
    at_start: bool,
    /// The field `data`, once there is one.
    data: Option<String>,
    event: String,
    id: String,
    retry_ms: Option<u64>,
}

impl Decoder {
    /// The default of [`Decoder::with_limit`]: 16 MiB, enough for an image in one event.
    pub const LIMIT: usize = 16 << 20;

    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Self::with_limit(Self::LIMIT)
    }

    /// Sets the maximum length of a line, and of the data of an event.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            data: None,
            event: String::new(),
            id: String::new(),
            retry_ms: None,
        }
    }

    /// Takes more bytes and adds the events that they complete.
    ///
    /// After an error the stream cannot be read on; the events before it have been added.
    pub fn feed(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), Oversized> {
        // Whole lines are read from `bytes` without a copy. Only a line that is cut is copied, once for each cut:
        //
        //     fed            read                    kept in `line`
        //     data: {"a"                             data: {"a"
        //     :1}\r          data: {"a":1}                          (and `after_cr`)
        //     \n\n           (LF of the CRLF), blank
        //
        // The blank line ends the event. Without `after_cr` the first LF would be a blank line of its own.
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(end);
            if self.line.is_empty() {
                self.end_line(line, events)?;
            } else {
                self.keep(line)?;
                let mut held = std::mem::take(&mut self.line);
                self.end_line(&held, events)?;
                held.clear();
                self.line = held;
            }
            bytes = match rest {
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.keep(bytes)
    }

    /// The event that the stream left open at its end.
    ///
    /// The standard drops it. Some servers close after their last line without a blank one, so it may be whole; it may
    /// just as well be cut.
    pub fn finish(mut self) -> Result<Option<SseEvent>, Oversized> {
        let mut events = Vec::new();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, &mut events)?;
        }
        self.dispatch(&mut events);
        Ok(events.pop())
    }

    /// The last `retry` of the stream, in milliseconds.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn keep(&mut self, part: &[u8]) -> Result<(), Oversized> {
        self.fits(self.line.len() + part.len())?;
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn fits(&self, bytes: usize) -> Result<(), Oversized> {
        if bytes > self.limit {
            return Err(Oversized { limit: self.limit });
        }
        Ok(())
    }

    fn end_line(&mut self, mut line: &[u8], events: &mut Vec<SseEvent>) -> Result<(), Oversized> {
        self.fits(line.len())?;
        if std::mem::take(&mut self.at_start) {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(events);
            return Ok(());
        }
        // A line never ends inside a character, so that each can be decoded alone.
        let line =
            std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                let held = self.data.as_ref().map_or(0, String::len);
                self.fits(held + value.len())?;
                match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(value);
                    }
                    none => *none = Some(value.to_owned()),
                }
            }
            "event" => value.clone_into(&mut self.event),
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok().or(self.retry_ms);
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, events: &mut Vec<SseEvent>) {
        let event = std::mem::take(&mut self.event);
        if let Some(data) = self.data.take() {
            events.push(SseEvent {
                event: Some(event).filter(|event| !event.is_empty()),
                data,
                id: Some(&self.id).filter(|id| !id.is_empty()).cloned(),
            });
        }
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

/// A line or an event that exceeds the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event stream has a line or an event of more than {limit} bytes")]
pub struct Oversized {
    /// The maximum number of bytes.
    pub limit: usize,
}

impl Classified for Oversized {
    fn fault(&self) -> Fault {
        Fault::Provider
    }
}
