//! What a row of the tables is.

use gadgetry_proto::delta::StopReason;
use gadgetry_proto::error::ModelErrorKind;
use gadgetry_proto::usage::Usage;
use serde_json::Value;

/// Which backend reads the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Chat,
    Completions,
    Messages,
    Responses,
}

/// One way in which a server answers, and what a good client keeps of it.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) api: Api,
    pub(crate) answer: Answer,
    pub(crate) kept: Kept,
}

/// An answer as bytes.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    pub(crate) body: Vec<u8>,
    pub(crate) end: End,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As it should.
    Closed,
    /// The connection is gone in the middle of the body.
    Broken,
    /// Nothing more comes.
    Silent,
    /// Not even headers come.
    Mute,
    /// The connection is gone before headers come.
    Slammed,
}

/// What is left of a reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Kept {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    /// Name and input of the calls that are complete, in order.
    pub(crate) calls: Vec<(String, Value)>,
    /// Names of the calls that began and never became complete.
    pub(crate) cut: Vec<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) finish: Finish,
    /// How long the provider asks us to wait, in milliseconds.
    pub(crate) wait_ms: Option<u64>,
}

/// How the reply ended for whoever reads deltas.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Finish {
    /// The last delta was neither an end nor an error: always wrong.
    #[default]
    Nothing,
    Stop(StopReason),
    Error(ModelErrorKind),
}

impl Row {
    pub(crate) fn new(api: Api, name: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            name,
            api,
            answer: Answer {
                status: 200,
                headers: vec![("content-type", "text/event-stream")],
                body: body.into(),
                end: End::Closed,
            },
            kept: Kept::default(),
        }
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.answer.status = status;
        self.answer.headers = vec![("content-type", "application/json")];
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.answer.headers.retain(|(other, _)| *other != name);
        self.answer.headers.push((name, value));
        self
    }

    /// Other bytes than frames.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.answer.body = body.into();
        self
    }

    /// Some of one more frame.
    pub(crate) fn cut_frame(mut self, start: &str) -> Self {
        self.answer.body.extend_from_slice(b"data: ");
        self.answer.body.extend_from_slice(start.as_bytes());
        self
    }

    pub(crate) fn end(mut self, end: End) -> Self {
        self.answer.end = end;
        self
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        text.clone_into(&mut self.kept.text);
        self
    }

    pub(crate) fn reasoning(mut self, text: &str) -> Self {
        text.clone_into(&mut self.kept.reasoning);
        self
    }

    /// One more call; `input` is JSON.
    pub(crate) fn call(mut self, name: &str, input: &str) -> Self {
        let input = serde_json::from_str(input).expect("the table has JSON");
        self.kept.calls.push((name.to_owned(), input));
        self
    }

    /// No call, whatever was set before.
    pub(crate) fn no_call(mut self) -> Self {
        self.kept.calls.clear();
        self
    }

    /// One more call that began, and is not complete.
    pub(crate) fn cut(mut self, name: &str) -> Self {
        self.kept.cut.push(name.to_owned());
        self
    }

    pub(crate) fn usage(mut self, input_tokens: u64, output_tokens: u64) -> Self {
        self.kept.usage = Some(counts(input_tokens, output_tokens));
        self
    }

    pub(crate) fn counts(mut self, usage: Usage) -> Self {
        self.kept.usage = Some(usage);
        self
    }

    pub(crate) fn no_usage(mut self) -> Self {
        self.kept.usage = None;
        self
    }

    pub(crate) fn stops(mut self, reason: StopReason) -> Self {
        self.kept.finish = Finish::Stop(reason);
        self
    }

    pub(crate) fn fails(mut self, kind: ModelErrorKind) -> Self {
        self.kept.finish = Finish::Error(kind);
        self
    }

    pub(crate) fn waits(mut self, milliseconds: u64) -> Self {
        self.kept.wait_ms = Some(milliseconds);
        self
    }
}

/// Counts without anything special.
pub(crate) fn counts(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage::default()
        .input_tokens(input_tokens)
        .output_tokens(output_tokens)
        .total_tokens(input_tokens + output_tokens)
}
