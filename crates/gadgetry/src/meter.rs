//! What replies use.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry_proto::convo::TokenEstimate;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;
use gadgetry_proto::usage::Usage;

/// A reply, and who wants to know once what it has used: at its end, or when nobody reads it any more.
pub(crate) struct Metered<F: FnOnce(Usage) + Unpin> {
    deltas: BoxStream<'static, Delta>,
    usage: Usage,
    tell: Option<F>,
}

impl<F: FnOnce(Usage) + Unpin> Metered<F> {
    /// The reply that `send` gives. If that panics, `tell` is told nevertheless.
    pub(crate) fn new(send: impl FnOnce() -> BoxStream<'static, Delta>, tell: F) -> Self {
        let mut metered = Self {
            deltas: stream::empty().boxed(),
            usage: Usage::default(),
            tell: Some(tell),
        };
        metered.deltas = send();
        metered
    }

    fn end(&mut self) {
        if let Some(tell) = self.tell.take() {
            tell(self.usage);
        }
    }
}

impl<F: FnOnce(Usage) + Unpin> Stream for Metered<F> {
    type Item = Delta;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delta>> {
        let delta = std::task::ready!(self.deltas.poll_next_unpin(cx));
        match &delta {
            Some(
                Delta::Usage { usage }
                | Delta::MessageEnd {
                    usage: Some(usage), ..
                },
            ) => self.usage = self.usage.max(*usage),
            Some(_) => {}
            None => self.end(),
        }
        Poll::Ready(delta)
    }
}

impl<F: FnOnce(Usage) + Unpin> Drop for Metered<F> {
    fn drop(&mut self) {
        self.end();
    }
}

/// About how many tokens a request has.
pub(crate) fn estimated_tokens(request: &Request) -> u64 {
    let mut estimate = TokenEstimate::of(&request.messages);
    for message in &request.trailing {
        estimate.pushed(message);
    }
    estimate.tokens()
}
