//! The person that a run may ask.

use futures_core::future::BoxFuture;

/// Somebody who answers questions.
///
/// Nobody is asked two things at once: all runs of a [`Family`](crate::Family) and all their gadgets wait for their turn,
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
