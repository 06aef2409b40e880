//! One reply of the model, as inputs for a run.

use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::StreamExt as _;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Close, Input};
use tokio::task::coop::consume_budget;

use crate::ask::{Admitted, admitted};
use crate::context::panic_text;
use crate::services::Services;

/// What comes of one request, or nothing while there is none.
#[derive(Default)]
pub(crate) struct Reply(Option<BoxStream<'static, Input>>);

impl Reply {
    /// Sends `request`, as soon as the limiter lets it go. A panic on the way is a reply that failed, for
    /// good: a mistake in a program is there the next time, too.
    pub(crate) fn send(&mut self, services: &Services, request: Request) {
        let model = Arc::clone(&services.model);
        let send = move |request| model.stream(request);
        let inputs = admitted(services.limiter.clone(), request, send, |_| {});
        let inputs = inputs.map(|step| match step {
            Admitted::After(waited) => Input::RateLimited(millis(waited)),
            Admitted::Delta(delta) => Input::Delta(delta),
        });
        let model = Arc::clone(&services.model);
        let inputs = AssertUnwindSafe(inputs)
            .catch_unwind()
            .map(move |input| input.unwrap_or_else(|panic| panicked(model.name(), panic.as_ref())));
        self.0 = Some(inputs.boxed());
    }

    /// Reads nothing more of it.
    pub(crate) fn close(&mut self) {
        self.0 = None;
    }

    /// What comes next; its end once, and then nothing until a further request.
    ///
    /// Cancel safety: nothing is lost.
    pub(crate) async fn next(&mut self) -> Input {
        let Some(inputs) = &mut self.0 else {
            return pending().await;
        };
        // A reply that is always ready must not keep gadgets and the user waiting.
        consume_budget().await;
        let input = inputs
            .next()
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

fn panicked(model: &str, panic: &(dyn std::any::Any + Send)) -> Input {
    let words = panic_text(&format!("the code of the model {model:?}"), panic);
    tracing::error!("{words}");
    Input::Delta(Delta::error(words))
}
