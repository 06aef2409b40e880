//! A model call that is repeated when it fails.

use std::mem;
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::delta::{Delta, DeltaKind};
use gadgetry_proto::error::{Classified as _, ModelError, ModelErrorKind};
use gadgetry_proto::message::Request;
use gadgetry_proto::run::Retry;

use crate::ask::{Attempt, Attempted, ModelCall, Received, random};

impl ModelCall {
    /// Sends `request` when the stream is first polled. A panic in the model's code is a [`Delta::Error`] of a kind that
    /// is not retried.
    ///
    /// Cancel safety: dropping the stream cancels the reply; the tokens known by then are reported.
    pub fn send(mut self, request: Request) -> BoxStream<'static, Received> {
        match self.retry.take() {
            None => self.attempt(request).map(Received::from).boxed(),
            Some(mut retry) => {
                if retry.seed == 0 {
                    retry.seed = random();
                }
                with_retries(self, request, retry)
            }
        }
    }
}

/// Sends `request`, and again after each failure that `retry` covers.
fn with_retries(call: ModelCall, request: Request, retry: Retry) -> BoxStream<'static, Received> {
    let retrying = Retrying {
        call,
        request,
        retry,
        retries: 0,
        phase: Phase::Send,
        is_over: false,
    };
    let steps = stream::unfold(retrying, |mut retrying| async move {
        let received = retrying.step().await?;
        Some((received, retrying))
    });
    steps.boxed()
}

struct Retrying {
    call: ModelCall,
    request: Request,
    retry: Retry,
    /// Retries so far.
    retries: u32,
    phase: Phase,
    /// True if the reply has ended. Usage may follow.
    is_over: bool,
}

enum Phase {
    Send,
    Read {
        reply: Box<Attempt>,
        content: Content,
    },
    /// Reports a retry. This is a separate phase, because the usage of the failed attempt is reported first.
    Announce {
        delay: Duration,
        error: ModelError,
    },
    Sleep(Duration),
    Over,
}

/// Content of a reply so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Content {
    Nothing,
    Reasoning,
    /// Text or a tool call: the caller has used it, so the reply is not retried.
    Answer,
}

impl Retrying {
    async fn step(&mut self) -> Option<Received> {
        loop {
            match mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Send => {
                    self.phase = Phase::Read {
                        reply: Box::new(self.call.clone().attempt(self.request.clone())),
                        content: Content::Nothing,
                    };
                }
                Phase::Announce { delay, error } => {
                    self.phase = Phase::Sleep(delay);
                    return Some(Received::Retry { delay, error });
                }
                Phase::Sleep(delay) => {
                    let runtime = &self.call.runtime;
                    runtime.sleep_until(runtime.now() + delay).await;
                    self.phase = Phase::Send;
                }
                Phase::Read { mut reply, content } => {
                    let received = reply.next().await;
                    if let Some(received) = self.received(received, reply, content) {
                        return Some(received);
                    }
                }
            }
        }
    }

    /// Judges the next item of `reply`. Returns the item to pass on; `None` if a retry or the end follows.
    fn received(
        &mut self,
        received: Option<Attempted>,
        reply: Box<Attempt>,
        content: Content,
    ) -> Option<Received> {
        let Some(received) = received else {
            let lost = "the connection ended before the model had finished its reply";
            if !self.is_over {
                self.fails(content, &ModelError::new(ModelErrorKind::Truncated, lost));
            }
            return None;
        };
        let delta = match received {
            Attempted::Delta(delta) => delta,
            Attempted::RateLimited(_) => {
                self.phase = Phase::Read { reply, content };
                return Some(received.into());
            }
        };
        if let Delta::Error(error) = &delta {
            if error.is_retryable() && self.fails(content, error) {
                return None;
            }
            self.is_over = true;
        } else if let Delta::MessageEnd { stop_reason, usage } = &delta {
            let is_empty =
                content == Content::Nothing && stop_reason.is_clean() && self.retry.on_empty;
            let empty = "the reply was empty";
            if is_empty && self.fails(content, &ModelError::new(ModelErrorKind::Other, empty)) {
                let usage = (*usage)?;
                return Some(Received::Delta(Delta::Usage { usage }));
            }
            self.is_over = true;
        }
        let content = content.max(content_of(&delta));
        self.phase = Phase::Read { reply, content };
        Some(Received::Delta(delta))
    }

    /// Plans a retry of a reply that has failed. Returns whether there is one.
    fn fails(&mut self, content: Content, error: &ModelError) -> bool {
        if content == Content::Answer {
            return false;
        }
        let delay = self
            .retry
            .delay_ms(1, self.retries + 1, error.retry_after_ms);
        let Some(delay) = delay else {
            return false;
        };
        self.retries += 1;
        self.phase = Phase::Announce {
            delay: Duration::from_millis(delay),
            error: error.clone(),
        };
        true
    }
}

fn content_of(delta: &Delta) -> Content {
    match (delta, delta.kind()) {
        (Delta::Text { delta, .. }, _) if delta.trim().is_empty() => Content::Nothing,
        (Delta::ProviderData(_), _) | (_, DeltaKind::Reasoning) => Content::Reasoning,
        (_, DeltaKind::Frame) => Content::Nothing,
        _ => Content::Answer,
    }
}
