//! From the bytes of an answer to deltas, wherever the bytes are cut. Nothing is awaited.

use std::borrow::Cow;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelErrorKind;
use serde_json::Value;

use crate::error::ProviderError;
use crate::frames::FrameLimits;
use crate::redact::Secrets;
use crate::wire::{Decode, is_over};
use crate::{json, sse};

/// Reads the body of one successful answer: an event stream, or one JSON document, whatever its headers call it.
///
/// ```
/// use gadgetry::{Delta, StopReason};
/// use gadgetry::provider::{ResponseDecoder, openai};
/// let mut answer = ResponseDecoder::new(Box::new(openai::Decoder::new()));
/// let mut deltas = Vec::new();
/// answer.feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hel", &mut deltas);
/// answer.feed(b"lo\"}}]}\n\ndata: [DONE]\n\n", &mut deltas);
/// assert_eq!(deltas[1], Delta::text("Hello"));
/// assert!(answer.is_over());
/// ```
pub struct ResponseDecoder {
    decoder: Box<dyn Decode>,
    form: Form,
    frames: FrameLimits,
    secrets: Secrets,
    is_over: bool,
    /// True if the last bytes contained a part of the reply.
    progressed: bool,
}

enum Form {
    /// Not known yet. The bytes may be a byte order mark.
    Unknown(Vec<u8>),
    Document(Vec<u8>),
    Events {
        decoder: sse::Decoder,
        /// The first bytes, until there was an event: they may be no stream at all.
        start: Option<Vec<u8>>,
    },
}

/// Maximum number of bytes shown of an answer that is not a stream.
const START: usize = 4 << 10;

impl ResponseDecoder {
    /// The reader of an answer, at its start.
    pub fn new(decoder: Box<dyn Decode>) -> Self {
        Self {
            decoder,
            form: Form::Unknown(Vec::new()),
            frames: FrameLimits::default(),
            secrets: Secrets::default(),
            is_over: false,
            progressed: false,
        }
    }

    /// Sets how frames are read.
    #[must_use]
    pub fn frames(mut self, frames: FrameLimits) -> Self {
        self.frames = frames;
        self
    }

    /// Removes secrets from frames before they are read, so that text that is shortened later contains no part of one.
    #[must_use]
    pub(crate) fn secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// Returns whether the reply has ended, well or not. What follows is ignored.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns whether the last bytes contained a part of the reply. Comments and empty events do not.
    pub(crate) fn has_progressed(&self) -> bool {
        self.progressed
    }

    /// Returns whether the reply is complete, and only the end of the stream is missing.
    pub(crate) fn may_end(&self) -> bool {
        !self.is_over && self.decoder.may_end()
    }

    /// Takes more bytes and appends their deltas.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<Delta>) {
        if self.is_over {
            return;
        }
        self.progressed = false;
        let at = out.len();
        self.take(bytes, out);
        let said = |delta: &Delta| !matches!(delta, Delta::Raw { .. } | Delta::Usage { .. });
        self.progressed |= out[at..].iter().any(said);
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<Delta>) {
        match &mut self.form {
            Form::Unknown(start) => {
                start.extend_from_slice(bytes);
                let start = std::mem::take(start);
                self.look(&start, out);
            }
            Form::Document(body) => {
                body.extend_from_slice(bytes);
                self.progressed = !bytes.trim_ascii().is_empty();
                if body.len() > self.frames.size {
                    let message = format!("the answer has more than {} bytes", self.frames.size);
                    self.fail(ProviderError::new(ModelErrorKind::Other, message), out);
                }
            }
            Form::Events { decoder, start } => {
                let mut frames = Vec::new();
                let fed = decoder.feed(bytes, &mut frames);
                if !frames.is_empty() {
                    *start = None;
                } else if let Some(start) = start {
                    let rest = START.saturating_sub(start.len()).min(bytes.len());
                    start.extend_from_slice(&bytes[..rest]);
                }
                for frame in &frames {
                    self.frame(frame, out);
                    if self.is_over {
                        return;
                    }
                }
                if let Err(error) = fed {
                    let error = ProviderError::new(ModelErrorKind::Other, error.to_string());
                    self.fail(error, out);
                }
            }
        }
    }

    /// The body has ended, or broke off, as `broken` describes. The reply ends here at the latest: as truncated, unless
    /// it is complete.
    pub fn end(&mut self, broken: Option<&str>, out: &mut Vec<Delta>) {
        if self.is_over {
            return;
        }
        let cut = broken.unwrap_or("the stream ended before the reply did");
        match std::mem::replace(&mut self.form, Form::Unknown(Vec::new())) {
            Form::Document(body) if broken.is_none() => self.document(&body, out),
            Form::Events { decoder, start } => {
                let start = start.filter(|start| broken.is_none() && is_no_stream(start));
                if let Some(start) = start {
                    let text = String::from_utf8_lossy(&start);
                    let text = self.secrets.reply(&text).into_owned();
                    self.fail(ProviderError::foreign(&text), out);
                    return;
                }
                // Some servers close the connection without the blank line that ends an event. Such an event counts if it
                // is whole: `data: [DONE]` does, `data: {"choices":[{"del` does not.
                if let (Ok(Some(event)), None) = (decoder.finish(), broken)
                    && (event.data == "[DONE]" || json::is_json(&event.data))
                {
                    self.frame(&event, out);
                }
                // All that matters may have come before the break.
                if self.is_over {
                    return;
                }
                let at = out.len();
                self.decoder.end(out);
                self.is_over = is_over(&out[at..]);
                if !self.is_over {
                    self.truncated(cut, out);
                }
            }
            Form::Document(_) | Form::Unknown(_) => self.truncated(cut, out),
        }
    }

    /// Decides by the first byte that is not blank: no line of a stream begins with a brace.
    ///
    /// The content type does not count, because some servers call everything `text/plain`.
    fn look(&mut self, start: &[u8], out: &mut Vec<Delta>) {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        // Blanks that keep the connection alive mean nothing to either form, nor do byte order marks.
        let mut rest = start.trim_ascii_start();
        while let Some(after) = rest.strip_prefix(MARK) {
            rest = after.trim_ascii_start();
        }
        self.form = match rest.first() {
            Some(b'{' | b'[' | b'<') => Form::Document(Vec::new()),
            _ if MARK.starts_with(rest) => {
                self.form = Form::Unknown(rest.to_vec());
                return;
            }
            _ => Form::Events {
                decoder: sse::Decoder::with_limit(self.frames.size),
                start: Some(Vec::new()),
            },
        };
        self.take(rest, out);
    }

    fn document(&mut self, body: &[u8], out: &mut Vec<Delta>) {
        let text = String::from_utf8_lossy(body);
        let text = self.secrets.reply(&text);
        let Ok(mut body) = json::parse_reply(&text) else {
            self.fail(ProviderError::foreign(&text), out);
            return;
        };
        json::whole_value(&mut body);
        if self.frames.raw {
            let mut data = json::parse(&text).unwrap_or_default();
            json::whole_value(&mut data);
            out.push(Delta::Raw { data });
        }
        let is_error = body.is_array() || body.get("error").is_some_and(|error| !error.is_null());
        if is_error && let Some(error) = ProviderError::from_body(&body) {
            self.fail(error, out);
            return;
        }
        let at = out.len();
        self.decoder.reply(body, out);
        if !is_over(&out[at..]) {
            out.push(ProviderError::foreign(&text).into());
        }
        self.is_over = true;
    }

    fn frame(&mut self, frame: &sse::SseEvent, out: &mut Vec<Delta>) {
        let clean = match self.secrets.reply(&frame.data) {
            Cow::Owned(data) => Some(sse::SseEvent {
                data,
                ..frame.clone()
            }),
            Cow::Borrowed(_) => None,
        };
        let frame = clean.as_ref().unwrap_or(frame);
        let at = out.len();
        let is_known = self.decoder.frame(frame, out);
        if !is_known || self.frames.raw {
            out.insert(at, raw(frame));
        }
        self.is_over = is_over(&out[at..]);
    }

    fn truncated(&mut self, cut: &str, out: &mut Vec<Delta>) {
        self.fail(ProviderError::new(ModelErrorKind::Truncated, cut), out);
    }

    fn fail(&mut self, error: ProviderError, out: &mut Vec<Delta>) {
        self.is_over = true;
        out.push(error.into());
    }
}

/// Returns whether no line of `start` is one of an event stream.
fn is_no_stream(start: &[u8]) -> bool {
    let is_field = |line: &[u8]| {
        let fields: [&[u8]; 5] = [b":", b"data", b"event", b"id", b"retry"];
        // The stream may have been cut within a name.
        let is =
            |field: &&[u8]| line.starts_with(field) || !line.is_empty() && field.starts_with(line);
        fields.iter().any(is)
    };
    let mut lines = start.split(|byte| b"\r\n".contains(byte));
    !start.trim_ascii().is_empty() && !lines.any(is_field)
}

/// A frame as it came.
fn raw(frame: &sse::SseEvent) -> Delta {
    let mut data = json::parse(&frame.data).unwrap_or_else(|_| Value::String(frame.data.clone()));
    json::whole_value(&mut data);
    Delta::Raw { data }
}
