//! The user that a run may ask.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use tokio::task::coop::unconstrained;

use crate::panics::panic_text;
use crate::scope::BudgetScope;

/// Answers questions of a run and its gadgets.
///
/// Questions are asked one at a time: all runs of a [`BudgetScope`] and all their gadgets wait for their turn, in the
/// order in which they asked. Any `Fn(String) -> impl Future<Output = Option<String>>` is a human.
///
/// ```
/// use gadgetry::Human;
/// let human = |question: String| async move { question.ends_with('?').then(|| "yes".to_owned()) };
/// # fn is_human(_: impl Human) {}
/// # is_human(human);
/// ```
pub trait Human: Send + Sync {
    /// Returns the answer, or `None`. A panic counts as no answer.
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

/// Asks `human` when it is this question's turn. The question joins the queue now, not when the future is first polled.
pub(crate) fn ask_in_turn(
    scope: &BudgetScope,
    human: Arc<dyn Human>,
    question: String,
) -> impl Future<Output = Option<String>> + Send + 'static {
    let mut turn = Box::pin(Arc::clone(&scope.turn).lock_owned());
    // The first poll of the lock takes it or joins its queue. `unconstrained`, because a task that has used up its
    // cooperative budget would get `Pending` here without having joined.
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
