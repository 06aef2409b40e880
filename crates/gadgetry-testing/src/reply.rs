//! Replies of a mock model.

use std::time::Duration;

use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::{ModelError, ModelErrorKind};
use gadgetry::proto::usage::Usage;

use crate::call::{Format, MockCall};
use crate::cut::{Cut, split};

/// A reply that says nothing and ends cleanly, to be filled.
///
/// ```
/// use std::time::Duration;
/// use gadgetry_testing::{Cut, call, reply};
/// let slow = reply()
///     .reasoning("Two numbers, one sum.")
///     .text("Let me see.\n")
///     .call(call("Add").id("sum").arg("a", 2).arg("b", 3))
///     .chunks(Cut::Every(4))
///     .delay(Duration::from_secs(1))
///     .chunk_delay(Duration::from_millis(20));
/// assert!(slow.written().starts_with("Let me see.\n!!!GADGET_START:Add:sum\n"));
/// ```
pub fn reply() -> Reply {
    Reply::default()
}

/// A reply of a mock model. [`reply`] begins one; a text or a call alone is one, too.
///
/// Its parts stream in the order in which they were added. Neighbouring texts and calls are one text, which is cut by
/// [`Reply::chunks`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    parts: Vec<Part>,
    end: End,
    usage: Option<Usage>,
    cut: Cut,
    delay: Duration,
    chunk_delay: Duration,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(String),
    Call(MockCall),
    Reasoning(String),
    Wait(Duration),
    Delta(Delta),
}

#[derive(Clone, Debug, PartialEq)]
enum End {
    Stop(StopReason),
    Error(Delta),
    Disconnect,
}

impl Default for End {
    fn default() -> Self {
        Self::Stop(StopReason::Stop)
    }
}

/// Next step of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Send(Delta),
    Wait(Duration),
}

impl Reply {
    /// More text, as written. It may hold blocks and tags, right or wrong ones.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(Part::Text(text.into()))
    }

    /// A gadget call.
    #[must_use]
    pub fn call(self, call: MockCall) -> Self {
        self.with(Part::Call(call))
    }

    /// Gadget calls, one after the other.
    #[must_use]
    pub fn calls(self, calls: impl IntoIterator<Item = MockCall>) -> Self {
        calls.into_iter().fold(self, Self::call)
    }

    /// Adds reasoning. It is cut like text.
    #[must_use]
    pub fn reasoning(self, text: impl Into<String>) -> Self {
        self.with(Part::Reasoning(text.into()))
    }

    /// Waits, on tokio's clock, before the next part. What came before has been sent.
    #[must_use]
    pub fn wait(self, delay: Duration) -> Self {
        self.with(Part::Wait(delay))
    }

    /// Any delta, as it is.
    #[must_use]
    pub fn delta(self, delta: Delta) -> Self {
        self.with(Part::Delta(delta))
    }

    fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// The token counts that the provider reports at the end, whatever the end is.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Shorthand for [`Reply::usage`] with these tokens of input and output, and their sum as the total.
    #[must_use]
    pub fn tokens(self, input: u64, output: u64) -> Self {
        self.usage(
            Usage::default()
                .input_tokens(input)
                .output_tokens(output)
                .total_tokens(input.saturating_add(output)),
        )
    }

    /// Sets the stop reason; [`StopReason::Stop`] by default.
    #[must_use]
    pub fn stop_reason(mut self, reason: StopReason) -> Self {
        self.end = End::Stop(reason);
        self
    }

    /// The reply ends with an error of the model in these words.
    #[must_use]
    pub fn fails(self, error: impl Into<String>) -> Self {
        self.fails_with(Delta::error(error))
    }

    /// The reply ends with an error of this kind, in these words.
    #[must_use]
    pub fn fails_as(mut self, kind: ModelErrorKind, error: impl Into<String>) -> Self {
        self.end = End::Error(Delta::Error(ModelError::new(kind, error)));
        self
    }

    /// The error asks to wait so long before the next try.
    ///
    /// # Panics
    ///
    /// If the reply does not end with an error.
    #[track_caller]
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        let End::Error(Delta::Error(ModelError { retry_after_ms, .. })) = &mut self.end else {
            panic!("only an error asks to wait, not {:?}", self.end);
        };
        *retry_after_ms = Some(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// The reply ends with this delta, which is a [`Delta::Error`].
    ///
    /// # Panics
    ///
    /// If it is another delta.
    #[track_caller]
    #[must_use]
    pub fn fails_with(mut self, error: Delta) -> Self {
        assert!(
            matches!(error, Delta::Error(_)),
            "a reply fails with an error, not with {error:?}"
        );
        self.end = End::Error(error);
        self
    }

    /// The stream just ends, without the model having said why, as when a connection breaks.
    #[must_use]
    pub fn disconnects(mut self) -> Self {
        self.end = End::Disconnect;
        self
    }

    /// Sets how text and reasoning are cut into chunks; [`Cut::Whole`] by default.
    #[must_use]
    pub fn chunks(mut self, cut: Cut) -> Self {
        self.cut = cut;
        self
    }

    /// The time before anything is sent, on tokio's clock.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The time between two chunks of one text, on tokio's clock.
    #[must_use]
    pub fn chunk_delay(mut self, delay: Duration) -> Self {
        self.chunk_delay = delay;
        self
    }

    /// Returns the texts and calls as the model writes them, with the default markers and without a schema.
    ///
    /// # Panics
    ///
    /// If a call cannot be written.
    pub fn written(&self) -> String {
        self.written_as(&Format::default())
    }

    pub(crate) fn written_as(&self, format: &Format) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(more) => text.push_str(more),
                Part::Call(call) => format.write(&mut text, call),
                Part::Reasoning(_) | Part::Wait(_) | Part::Delta(_) => {}
            }
        }
        text
    }

    /// Returns the steps of the reply, in their order.
    pub(crate) fn steps(&self, format: &Format) -> Vec<Step> {
        let mut steps = Steps {
            reply: self,
            done: Vec::new(),
            text: String::new(),
            sent: 0,
        };
        steps.wait(self.delay);
        for part in &self.parts {
            match part {
                Part::Text(more) => steps.text.push_str(more),
                Part::Call(call) => format.write(&mut steps.text, call),
                Part::Reasoning(thought) => {
                    steps.flush();
                    steps.chunks(thought, |delta| Delta::Reasoning {
                        delta,
                        metadata: None,
                    });
                }
                Part::Wait(delay) => {
                    steps.flush();
                    steps.wait(*delay);
                }
                Part::Delta(delta) => {
                    steps.flush();
                    steps.send(delta.clone());
                }
            }
        }
        steps.flush();
        steps.end();
        steps.done
    }
}

struct Steps<'a> {
    reply: &'a Reply,
    done: Vec<Step>,
    /// All of the text so far, for a block begins a line wherever the last text was cut off.
    text: String,
    /// Length of the part that has its steps.
    sent: usize,
}

impl Steps<'_> {
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.chunks(&text[self.sent..], Delta::text);
        self.sent = text.len();
        self.text = text;
    }

    fn send(&mut self, delta: Delta) {
        self.done.push(Step::Send(delta));
    }

    fn wait(&mut self, delay: Duration) {
        if !delay.is_zero() {
            self.done.push(Step::Wait(delay));
        }
    }

    fn chunks(&mut self, text: &str, delta: impl Fn(String) -> Delta) {
        let reply = self.reply;
        for (number, chunk) in split(text, &reply.cut).into_iter().enumerate() {
            if number > 0 {
                self.wait(reply.chunk_delay);
            }
            self.send(delta(chunk.to_owned()));
        }
    }

    fn end(&mut self) {
        let reply = self.reply;
        let usage = reply.usage;
        // Only the clean end carries the counts itself.
        let counts = usage.map(|usage| Delta::Usage { usage });
        match &reply.end {
            End::Stop(reason) => self.send(Delta::MessageEnd {
                stop_reason: reason.clone(),
                usage,
            }),
            End::Error(error) => self
                .done
                .extend(counts.into_iter().chain([error.clone()]).map(Step::Send)),
            End::Disconnect => self.done.extend(counts.map(Step::Send)),
        }
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        reply().text(text)
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        reply().text(text)
    }
}

impl From<MockCall> for Reply {
    fn from(call: MockCall) -> Self {
        reply().call(call)
    }
}
