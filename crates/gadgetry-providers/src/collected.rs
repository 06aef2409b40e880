//! The deltas of a reply as parts, for the encoders.

use gadgetry_proto::delta::{ContentMetadata, Delta, StopReason};
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::usage::Usage;

use crate::refusal;

/// The parts of a reply, in the order in which they began, and how it ended.
#[derive(Debug, Default)]
pub(super) struct Collected {
    /// True if texts are left out, because only frames are needed.
    pub(super) drops_text: bool,
    pub(super) model: String,
    pub(super) parts: Vec<Part>,
    pub(super) end: Option<StopReason>,
    pub(super) usage: Option<Usage>,
}

/// One part of a reply.
#[derive(Debug)]
pub(super) enum Part {
    Text(String),
    Reasoning(String),
    Refusal(String),
    Call {
        id: String,
        name: String,
        json: String,
        is_over: bool,
    },
}

/// Change of a reply by one delta. Parts are named by their number.
#[derive(Debug)]
pub(super) enum Step<'d> {
    /// The reply begins.
    Start,
    /// A text part begins, after which the one before has ended.
    Begins(usize),
    /// A part has more text, or more arguments.
    Grows(usize, String),
    /// A call has ended.
    Ends(usize),
    /// Metadata of the current text or reasoning.
    About(&'d ContentMetadata),
    Usage(Usage),
    Finish(&'d StopReason, Option<Usage>),
    Fail {
        message: &'d str,
        code: String,
    },
}

impl Collected {
    /// Takes a delta that only adds text to the text part that is open: the short way for tokens. `None` for all others.
    pub(super) fn more_text<'d>(&mut self, delta: &'d Delta) -> Option<&'d str> {
        let (
            Delta::Text {
                delta,
                metadata: None,
            },
            Some(Part::Text(text)),
        ) = (delta, self.parts.last_mut())
        else {
            return None;
        };
        if !self.drops_text {
            text.push_str(delta);
        }
        (!delta.is_empty()).then_some(delta)
    }

    /// Takes a delta. Blocks, raw frames and provider data mean nothing to a client.
    pub(super) fn add<'d>(&mut self, delta: &'d Delta) -> Vec<Step<'d>> {
        let mut steps = Vec::new();
        if let Delta::MessageStart { model } = delta {
            self.model = model.clone().unwrap_or_default();
            steps.push(Step::Start);
        } else if let Delta::Text { delta, metadata } = delta {
            let is_text = |part: &Part| matches!(part, Part::Text(_));
            self.grow(delta, is_text, Part::Text, &mut steps);
            steps.extend(metadata.as_ref().map(Step::About));
        } else if let Delta::Reasoning { delta, metadata } = delta {
            let is_reasoning = |part: &Part| matches!(part, Part::Reasoning(_));
            self.grow(delta, is_reasoning, Part::Reasoning, &mut steps);
            steps.extend(metadata.as_ref().map(Step::About));
        } else if let Delta::ContentMetadata { metadata } | Delta::ReasoningMetadata { metadata } =
            delta
        {
            steps.push(Step::About(metadata));
        } else if let Delta::Diagnostic(said) = delta
            && let Some(words) = refusal::words(said)
        {
            self.grow(words, |_| false, Part::Refusal, &mut steps);
        } else if let Delta::ToolCallStart { id, name } = delta {
            self.call(id, name, &mut steps);
        } else if let Delta::ToolCallDelta { id, delta } = delta {
            self.arguments(id, delta, &mut steps);
        } else if let Delta::ToolCallEnd { id, input } = delta {
            let input = input.as_ref().map(ToString::to_string);
            self.end_call(id, input.as_deref(), &mut steps);
        } else if let Delta::ToolCall { id, name, input } = delta {
            self.call(id, name, &mut steps);
            self.end_call(id, Some(&input.to_string()), &mut steps);
        } else if let Delta::Usage { usage } = delta {
            self.usage = Some(*usage);
            steps.push(Step::Usage(*usage));
        } else if let Delta::MessageEnd { stop_reason, usage } = delta {
            self.end = Some(stop_reason.clone());
            self.usage = usage.or(self.usage);
            steps.push(Step::Finish(stop_reason, self.usage));
        } else if let Delta::Error(ModelError {
            message: error,
            code,
            kind,
            ..
        }) = delta
        {
            let code = code.clone().unwrap_or_else(|| code_of(*kind).to_owned());
            steps.push(Step::Fail {
                message: error,
                code,
            });
        }
        steps
    }

    fn grow(
        &mut self,
        delta: &str,
        is_same: impl Fn(&Part) -> bool,
        new: impl Fn(String) -> Part,
        steps: &mut Vec<Step<'_>>,
    ) {
        if delta.is_empty() {
            return;
        }
        if !self.parts.last().is_some_and(is_same) {
            self.parts.push(new(String::new()));
            steps.push(Step::Begins(self.parts.len() - 1));
        }
        let at = self.parts.len() - 1;
        if !self.drops_text
            && let Part::Text(text) | Part::Reasoning(text) | Part::Refusal(text) =
                &mut self.parts[at]
        {
            text.push_str(delta);
        }
        steps.push(Step::Grows(at, delta.to_owned()));
    }

    fn call(&mut self, id: &str, name: &str, steps: &mut Vec<Step<'_>>) {
        self.parts.push(Part::Call {
            id: id.to_owned(),
            name: name.to_owned(),
            json: String::new(),
            is_over: false,
        });
        steps.push(Step::Begins(self.parts.len() - 1));
    }

    fn open_call(&self, sought: &str) -> Option<usize> {
        self.parts
            .iter()
            .rposition(|part| matches!(part, Part::Call { id, is_over: false, .. } if id == sought))
    }

    fn arguments(&mut self, id: &str, delta: &str, steps: &mut Vec<Step<'_>>) {
        let Some(at) = self.open_call(id).filter(|_| !delta.is_empty()) else {
            return;
        };
        if let Part::Call { json, .. } = &mut self.parts[at] {
            json.push_str(delta);
        }
        steps.push(Step::Grows(at, delta.to_owned()));
    }

    /// Ends a call. Without arguments it gets `{}`, because decoders read an empty text as a call that was cut off.
    fn end_call(&mut self, id: &str, input: Option<&str>, steps: &mut Vec<Step<'_>>) {
        let Some(at) = self.open_call(id) else {
            return;
        };
        if matches!(&self.parts[at], Part::Call { json, .. } if json.trim().is_empty()) {
            self.arguments(id, input.unwrap_or("{}"), steps);
        }
        if let Part::Call { is_over, .. } = &mut self.parts[at] {
            *is_over = true;
        }
        steps.push(Step::Ends(at));
    }
}

/// The code that the decoders read as this kind of error.
fn code_of(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::Authentication => "authentication_error",
        ModelErrorKind::RateLimit => "rate_limit_error",
        ModelErrorKind::Overloaded => "overloaded_error",
        ModelErrorKind::ContextOverflow => "context_length_exceeded",
        ModelErrorKind::BadRequest => "invalid_request_error",
        ModelErrorKind::ContentFilter => "content_filter",
        // A client may repeat a request whose answer broke off, as after an error of the server.
        ModelErrorKind::Transport | ModelErrorKind::Truncated => "server_error",
        ModelErrorKind::Other | _ => "error",
    }
}
