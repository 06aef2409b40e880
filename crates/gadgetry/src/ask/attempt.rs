//! One attempt of a model call: wait for the rate limit, send, count tokens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{FutureExt as _, StreamExt as _};
use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;
use gadgetry_proto::usage::Usage;

use crate::ask::{ModelCall, Received};
use crate::panics::panic_text;

/// Item of an [`Attempt`].
pub(crate) enum Attempted {
    Delta(Delta),
    /// The rate limit delayed the request by this long. It is sent now.
    RateLimited(Duration),
}

/// The reply to one request.
///
/// Written by hand instead of as a chain of adapters, because every delta of every reply passes through it.
pub(crate) struct Attempt {
    call: ModelCall,
    state: State,
    /// The tokens that the limiter has admitted, until their actual number is reported.
    admitted: Option<u64>,
    /// True if the request was sent and its usage not reported.
    is_sent: bool,
    usage: Usage,
}

enum State {
    New(Request),
    Waiting(Request, BoxFuture<'static, Duration>),
    Admitted(Request),
    Reading(BoxStream<'static, Delta>),
    Over,
}

impl ModelCall {
    /// Sends `request` once, whatever [`ModelCall::retry`] says.
    pub(crate) fn attempt(self, request: Request) -> Attempt {
        Attempt::new(self, request)
    }
}

impl From<Attempted> for Received {
    fn from(attempted: Attempted) -> Self {
        match attempted {
            Attempted::Delta(delta) => Self::Delta(delta),
            Attempted::RateLimited(waited) => Self::RateLimited(waited),
        }
    }
}

impl Attempt {
    fn new(call: ModelCall, request: Request) -> Self {
        Self {
            call,
            state: State::New(request),
            admitted: None,
            is_sent: false,
            usage: Usage::default(),
        }
    }

    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Attempted>> {
        loop {
            // First and in place, because all deltas of a reply come this way.
            if let State::Reading(deltas) = &mut self.state {
                let Some(delta) = ready!(deltas.poll_next_unpin(cx)) else {
                    self.state = State::Over;
                    continue;
                };
                if let Delta::Usage { usage }
                | Delta::MessageEnd {
                    usage: Some(usage), ..
                } = &delta
                {
                    // Providers send running totals.
                    self.usage = self.usage.max(*usage);
                }
                return Poll::Ready(Some(Attempted::Delta(delta.bounded())));
            }
            match std::mem::replace(&mut self.state, State::Over) {
                State::New(request) => {
                    // A request that is refused anyway does not wait.
                    if let Some(refusal) = self.refusal() {
                        return Poll::Ready(Some(refusal));
                    }
                    self.state = match &self.call.limiter {
                        Some(limiter) => {
                            let tokens = estimated_tokens(&request);
                            self.admitted = Some(tokens);
                            let limiter = Arc::clone(limiter);
                            let admit = async move { limiter.admit(tokens).await };
                            State::Waiting(request, admit.boxed())
                        }
                        None => State::Admitted(request),
                    };
                }
                State::Waiting(request, mut admit) => {
                    let Poll::Ready(waited) = admit.poll_unpin(cx) else {
                        self.state = State::Waiting(request, admit);
                        return Poll::Pending;
                    };
                    self.is_sent = true;
                    self.state = State::Admitted(request);
                    if !waited.is_zero() {
                        return Poll::Ready(Some(Attempted::RateLimited(waited)));
                    }
                }
                State::Admitted(request) => {
                    self.is_sent = true;
                    // Others may have spent the budget while this request waited.
                    if let Some(refusal) = self.refusal() {
                        return Poll::Ready(Some(refusal));
                    }
                    let model = &*self.call.model;
                    self.state = State::Reading(match &self.call.sender {
                        Some(send) => send(model, request),
                        None => model.stream(request),
                    });
                }
                State::Reading(_) | State::Over => {
                    self.report_usage();
                    return Poll::Ready(None);
                }
            }
        }
    }

    /// Returns the error of the check, if there is a check and it fails.
    fn refusal(&self) -> Option<Attempted> {
        let refusal = self.call.check.as_ref()?().err()?;
        Some(Attempted::Delta(Delta::error(refusal)))
    }

    /// Reports the tokens, once.
    fn report_usage(&mut self) {
        // Dropped while it waited: the limiter has not admitted it, and nothing was sent.
        if !std::mem::take(&mut self.is_sent) {
            return;
        }
        if let Some(on_usage) = &self.call.on_usage {
            on_usage(self.usage);
        }
        if let (Some(limiter), Some(tokens)) = (&self.call.limiter, self.admitted.take()) {
            limiter.record(tokens, self.usage);
        }
    }
}

impl Stream for Attempt {
    type Item = Attempted;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Attempted>> {
        let attempt = &mut *self;
        // Nothing half-changed is used again: after a panic the attempt is over.
        catch_unwind(AssertUnwindSafe(|| attempt.step(cx))).unwrap_or_else(|panic| {
            attempt.state = State::Over;
            let who = format!("the code of the model {:?}", attempt.call.model.name());
            let text = panic_text(&who, panic.as_ref());
            tracing::error!("{text}");
            // Not retryable: a bug is still there the next time.
            Poll::Ready(Some(Attempted::Delta(Delta::error(text))))
        })
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.report_usage();
    }
}

/// Estimates the tokens of a request.
fn estimated_tokens(request: &Request) -> u64 {
    let mut estimate = TokenEstimate::of(&request.messages);
    for message in &request.trailing {
        estimate.pushed(message);
    }
    estimate.tokens()
}
