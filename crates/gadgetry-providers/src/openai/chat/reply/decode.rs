//! The answer of Chat Completions as deltas.

use std::sync::Arc;

use gadgetry_proto::delta::{ContentMetadata, Delta, StopReason};
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::usage::Usage;
use serde_json::Value;

use super::calls::Calls;
use super::chunk::{Prose, choice, prose, stop_reason};
use super::kept::ReturnedData;
use super::quick::Quick;
use crate::error::ProviderError;
use crate::json::{self, SurrogateJoiner};
use crate::openai::usage;
use crate::refusal::Refusal;
use crate::sse;
use crate::tools::ToolNames;
use crate::wire::{Decode, StopSequences, add_reason, asked_for, message_end};

/// Reads chunks, and whole replies, of Chat Completions.
///
/// ```
/// use gadgetry::Delta;
/// use gadgetry::provider::{Decode, openai, sse};
/// let mut decoder = openai::Decoder::new();
/// let mut deltas = Vec::new();
/// let data = r#"{"choices":[{"delta":{"content":"Hello"}}]}"#.to_owned();
/// decoder.frame(&sse::SseEvent { data, ..sse::SseEvent::default() }, &mut deltas);
/// assert_eq!(deltas[1], Delta::text("Hello"));
/// ```
///
/// The reply ends with `[DONE]`, or with a finish reason at the end of the stream. Without a finish reason it ends as
/// [`StopReason::Unspecified`], and calls that nothing but its end completed stay open, as after every reason that is not
/// [clean](StopReason::is_clean). A refusal is not text: it comes as a [`Delta::Diagnostic`]. Counts come with
/// [`Delta::MessageEnd`]; of a reply that is cut off they come as [`Delta::Usage`].
///
/// One choice is read, although some servers send more: choice 0, or the first one of a server that counts otherwise.
/// Therefore the first piece of another choice waits for the next piece, and is dropped if that is of choice 0.
#[derive(Debug, Default)]
pub struct Decoder {
    has_begun: bool,
    /// True if a chunk had a delta.
    has_delta: bool,
    /// The number of the choice that is read, once it is known.
    choice: Option<u64>,
    /// The first piece of a choice other than 0, and its number.
    waiting: Option<(u64, Value)>,
    quick: Quick,
    text: SurrogateJoiner,
    reasoning: SurrogateJoiner,
    calls: Calls,
    /// Data that later requests send back.
    kept: Option<ReturnedData>,
    usage: Option<Usage>,
    stop_reason: Option<StopReason>,
    stops: StopSequences,
    /// The provider's words in place of the reply, or of its rest.
    refusal: Refusal,
    is_over: bool,
}

impl Decoder {
    /// A decoder at the start of an answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder for a model that was offered tools by these names.
    pub(crate) fn with_names(names: Arc<ToolNames>) -> Self {
        Self {
            calls: Calls::with_names(names),
            ..Self::default()
        }
    }

    /// Keeps reasoning and signatures of `model` as [`Delta::ProviderData`] for later requests.
    #[must_use]
    pub(crate) fn keeping<'m>(mut self, model: impl Into<Option<&'m str>>) -> Self {
        self.kept = model.into().map(ReturnedData::of);
        self
    }

    /// Reads the answer to a request without stop sequences: an answer that says it ended at one was cut.
    #[must_use]
    pub(crate) fn without_stop_sequences(mut self) -> Self {
        self.stops = StopSequences::None;
        self
    }

    fn chunk(&mut self, body: &Value, out: &mut Vec<Delta>) {
        if !self.has_begun {
            self.has_begun = true;
            let model = body.get("model").and_then(Value::as_str);
            let model = model.filter(|model| !model.is_empty()).map(str::to_owned);
            out.push(Delta::MessageStart { model });
        }
        if let Some(usage) = usage::of(body) {
            self.usage = Some(self.usage.unwrap_or_default().max(usage));
        }
        let Some(choice) = choice(body) else {
            return;
        };
        let index = choice.get("index").and_then(Value::as_u64);
        if let (None, Some(number)) = (self.choice, index) {
            if number == 0 {
                self.waiting = None;
                self.choice = Some(0);
            } else if self.waiting.is_none() {
                self.waiting = Some((number, choice.clone()));
                return;
            }
        }
        self.release_waiting(out);
        if index.is_none() || index == self.choice {
            self.piece(choice, out);
        }
    }

    /// No piece of choice 0 has come, so the one that waits belongs to the reply.
    fn release_waiting(&mut self, out: &mut Vec<Delta>) {
        if let Some((number, choice)) = self.waiting.take() {
            self.choice = Some(number);
            self.piece(&choice, out);
        }
    }

    fn piece(&mut self, choice: &Value, out: &mut Vec<Delta>) {
        let part = |field: &str| choice.get(field).filter(|said| said.is_object());
        if let Some(said) = part("delta") {
            self.has_delta = true;
            self.said(said, out);
        } else if let Some(said) = part("message") {
            // After deltas it is the reply once more, whole.
            if !self.has_delta {
                self.said(said, out);
            }
        } else if let Some(text) = choice.get("text").and_then(Value::as_str) {
            self.prose(Prose::Text, text, out);
        }
        if let Some(reason) = stop_reason(choice) {
            let reason = asked_for(reason, self.stops);
            add_reason(&mut self.stop_reason, reason);
        }
    }

    fn said(&mut self, said: &Value, out: &mut Vec<Delta>) {
        if let Some(kept) = &mut self.kept {
            kept.message(said);
        }
        prose(said, |what, text| self.prose(what, text, out));
        if self.refusal.has_begun() {
            return;
        }
        if let Some(Value::Array(annotations)) = said.get("annotations")
            && !annotations.is_empty()
        {
            let mut annotations = annotations.clone();
            annotations.iter_mut().for_each(json::whole_value);
            let metadata = ContentMetadata {
                annotations,
                ..ContentMetadata::default()
            };
            out.push(Delta::ContentMetadata { metadata });
        }
        match said.get("tool_calls") {
            Some(Value::Array(pieces)) => {
                for piece in pieces {
                    self.call(piece, out);
                }
            }
            Some(piece @ Value::Object(_)) => self.call(piece, out),
            _ => {}
        }
        if let Some(call @ Value::Object(_)) = said.get("function_call") {
            self.call(call, out);
        }
    }

    fn call(&mut self, piece: &Value, out: &mut Vec<Delta>) {
        let id = self.calls.piece(piece, out);
        if let Some(kept) = &mut self.kept {
            kept.call(id, piece);
        }
    }

    fn prose(&mut self, what: Prose, text: &str, out: &mut Vec<Delta>) {
        let halves = match what {
            Prose::Reasoning => &mut self.reasoning,
            // A refusal ends the text: nothing in it, or after it, is a part of the reply.
            Prose::Text if self.refusal.has_begun() => return,
            Prose::Text => &mut self.text,
            Prose::Refusal => return self.refuse(text),
        };
        push_prose(what, &halves.join(text), out);
    }

    fn refuse(&mut self, words: &str) {
        if !words.is_empty() {
            self.refusal.push(words);
            add_reason(&mut self.stop_reason, StopReason::ContentFilter);
        }
    }

    fn done(&mut self, out: &mut Vec<Delta>) {
        if self.is_over {
            return;
        }
        self.release_waiting(out);
        self.is_over = true;
        for (what, halves) in [
            (Prose::Reasoning, &mut self.reasoning),
            (Prose::Text, &mut self.text),
        ] {
            push_prose(what, halves.finish(), out);
        }
        let stop_reason = self.stop_reason.take().unwrap_or(StopReason::Unspecified);
        // A call that may have been cut off stays open.
        if stop_reason.is_clean() {
            self.calls.finish(out);
        }
        self.calls.report_extra(out);
        out.extend(self.kept.as_mut().and_then(ReturnedData::take));
        out.extend(self.refusal.report());
        let has_call = !self.calls.is_empty();
        out.push(message_end(stop_reason, has_call, self.usage));
    }

    fn fail(&mut self, error: ProviderError, out: &mut Vec<Delta>) {
        self.release_waiting(out);
        self.is_over = true;
        self.counts(out);
        out.push(error.into());
    }

    /// Emits the counts of a reply that was cut off, and the data that later requests send back.
    fn counts(&mut self, out: &mut Vec<Delta>) {
        out.extend(self.kept.as_mut().and_then(ReturnedData::take));
        out.extend(self.usage.take().map(|usage| Delta::Usage { usage }));
    }
}

impl Decode for Decoder {
    fn frame(&mut self, frame: &sse::SseEvent, out: &mut Vec<Delta>) -> bool {
        let data = frame.data.trim();
        if data == "[DONE]" {
            self.done(out);
            return true;
        }
        if data.is_empty() {
            return true;
        }
        if self.choice == Some(0)
            && frame.event.is_none()
            && let Some(text) = self.quick.text(data)
        {
            self.has_delta = true;
            self.prose(Prose::Text, &text, out);
            return true;
        }
        let body = match json::parse_reply(data) {
            Ok(body) => body,
            Err(error) => {
                self.fail(ProviderError::unreadable(data, &error), out);
                return true;
            }
        };
        if let Some(error) = error_in(&body, frame.event.as_deref()) {
            self.fail(error, out);
            return true;
        }
        let is_known = ["choices", "usage", "x_groq"]
            .iter()
            .any(|field| body.get(*field).is_some());
        if is_known {
            self.chunk(&body, out);
        }
        is_known
    }

    fn reply(&mut self, body: Value, out: &mut Vec<Delta>) {
        if let Some(error) = error_in(&body, None) {
            self.fail(error, out);
            return;
        }
        if choice(&body).is_some() {
            self.chunk(&body, out);
            self.done(out);
        }
    }

    fn may_end(&self) -> bool {
        // A refusal is a reason to stop, but its words may continue.
        let has_stopped = self.stop_reason.is_some() && !self.refusal.has_begun();
        let waiting = self.waiting.as_ref();
        has_stopped || waiting.is_some_and(|(_, choice)| stop_reason(choice).is_some())
    }

    fn end(&mut self, out: &mut Vec<Delta>) {
        self.release_waiting(out);
        if self.stop_reason.is_some() {
            self.done(out);
        } else if !self.is_over {
            self.counts(out);
        }
    }
}

/// The error that a frame reports: by its name, in a field `error` of it or of its choice, or as a document that is
/// nothing else.
fn error_in(body: &Value, event: Option<&str>) -> Option<ProviderError> {
    let is_set = |value: Option<&Value>| value.is_some_and(|it| it.is_object() || it.is_string());
    let inner = choice(body).filter(|choice| is_set(choice.get("error")));
    if let Some(choice) = inner {
        return ProviderError::from_body(choice);
    }
    let is_error = event == Some("error")
        || is_set(body.get("error"))
        || body.get("object").and_then(Value::as_str) == Some("error")
        || body.get("type").and_then(Value::as_str) == Some("error")
        || (body.get("choices").is_none() && is_set(body.get("detail")));
    is_error.then(|| {
        ProviderError::from_body(body).unwrap_or_else(|| {
            ProviderError::new(
                ModelErrorKind::Other,
                format!("the provider failed: {body}"),
            )
        })
    })
}

fn push_prose(what: Prose, delta: &str, out: &mut Vec<Delta>) {
    if delta.is_empty() {
        return;
    }
    let delta = delta.to_owned();
    let metadata = None;
    out.push(match what {
        Prose::Reasoning => Delta::Reasoning { delta, metadata },
        Prose::Text | Prose::Refusal => Delta::Text { delta, metadata },
    });
}
