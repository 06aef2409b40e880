//! The person that a run may ask.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use tokio::task::coop::unconstrained;

use crate::context::panic_text;
use crate::family::Family;

/// Somebody who answers questions.
///
/// Nobody is asked two things at once: all runs of a [`Family`] and all their gadgets wait for their turn,
/// in the order in which they asked. Any `Fn(String) -> impl Future<Output = Option<String>>` is a human.
///
/// ```
/// use gadgetry::Human;
/// let human = |question: String| async move { question.ends_with('?').then(|| "yes".to_owned()) };
/// # fn is_human(_: impl Human) {}
/// # is_human(human);
/// ```
pub trait Human: Send + Sync {
    /// The answer; `None` if there is none. A panic counts as none.
    ///
    /// Cancel safety: the future is dropped when the answer is no longer wanted.
    fn ask(&self, question: String) -> BoxFuture<'_, Option<String>>;
}

impl<F, R> Human for F
where
    F: Fn(String) -> R + Send + Sync,
    R: Future<Output = Option<String>> + Send + 'static,
{
    fn ask(&self, question: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(self(question))
    }
}

/// Asks `human` when it is this question's turn. It stands in the line from now on, not from when the future is polled.
pub(crate) fn ask_in_turn(
    family: &Family,
    human: Arc<dyn Human>,
    question: String,
) -> impl Future<Output = Option<String>> + Send + 'static {
    let mut turn = Box::pin(Arc::clone(&family.turn).lock_owned());
    let taken = unconstrained(&mut turn).now_or_never();
    async move {
        let _turn = match taken {
            Some(taken) => taken,
            None => turn.await,
        };
        let answer = AssertUnwindSafe(async { human.ask(question).await }).catch_unwind();
        answer.await.unwrap_or_else(|panic| {
            tracing::error!("{}", panic_text("the human's side", panic.as_ref()));
            None
        })
    }
}
