//! One reply of the model, as inputs of the run.

use std::future::pending;
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::StreamExt as _;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Close, Input};
use tokio::task::coop::consume_budget;
use tracing::{Instrument as _, Span};

use crate::ask::{Attempted, ModelCall};
use crate::runtime::{Runtime, Step};

/// The reply that is being read, if there is one.
#[derive(Default)]
pub(super) struct Reply(Option<(BoxStream<'static, Input>, Span)>);

impl Reply {
    /// Sends `request` when the reply is first read, and reads the reply in `span`.
    pub(super) fn send(
        &mut self,
        call: ModelCall,
        request: Request,
        step: &Step,
        runtime: &dyn Runtime,
        span: Span,
    ) {
        let inputs = call.attempt(request).map(|attempted| match attempted {
            Attempted::Delta(delta) => Input::Delta(delta),
            Attempted::RateLimited(waited) => Input::RateLimited(millis(waited)),
        });
        self.0 = Some((runtime.reply(step, inputs.boxed()), span));
    }

    /// Cancels the reply that is being read.
    pub(super) fn close(&mut self) {
        self.0 = None;
    }

    /// Waits for the next input: [`Input::ModelClosed`] once at the end, and then nothing until the next request.
    ///
    /// Cancel safety: nothing is lost.
    pub(super) async fn next(&mut self) -> Input {
        let Some((inputs, span)) = &mut self.0 else {
            return pending().await;
        };
        // A reply that is always ready must not keep gadgets and the user waiting.
        consume_budget().await;
        let input = inputs
            .next()
            .instrument(span.clone())
            .await
            .unwrap_or(Input::ModelClosed(Close::Ended));
        if let Input::ModelClosed(_) = input {
            self.close();
        }
        input
    }
}

fn millis(waited: Duration) -> u64 {
    u64::try_from(waited.as_millis()).unwrap_or(u64::MAX)
}
