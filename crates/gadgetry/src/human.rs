//! The user that a run can ask.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use gadgetry_proto::event::RunInfo;
use gadgetry_proto::id::CallId;
use tokio::task::coop::unconstrained;

use crate::panics::panic_text;
use crate::scope::BudgetScope;

/// A question to the user. It displays as its text.
///
/// ```
/// use gadgetry::HumanQuestion;
/// use gadgetry::control::RunInfo;
/// let question = HumanQuestion::new("Which day?", RunInfo::new("order-7", "haiku"));
/// assert_eq!(question.to_string(), "Which day?");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HumanQuestion {
    /// The question.
    pub text: String,
    /// The run that asks.
    pub run: Arc<RunInfo>,
    /// The call that asks; `None` if the run itself waits for the user's next message.
    pub call: Option<CallId>,
    /// The gadget of the call, as registered.
    pub gadget: Option<String>,
}

impl HumanQuestion {
    /// Makes a question of the run itself.
    pub fn new(text: impl Into<String>, run: impl Into<Arc<RunInfo>>) -> Self {
        Self {
            text: text.into(),
            run: run.into(),
            call: None,
            gadget: None,
        }
    }

    /// Attributes the question to a call of this gadget.
    #[must_use]
    pub fn of(mut self, call: CallId, gadget: impl Into<String>) -> Self {
        self.call = Some(call);
        self.gadget = Some(gadget.into());
        self
    }
}

impl fmt::Display for HumanQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Answers questions of a run and its gadgets.
///
/// Questions are asked one at a time: all runs of a [`BudgetScope`] and all their gadgets wait for their turn, in the order in
/// which they asked. Any `Fn(HumanQuestion) -> impl Future<Output = Option<String>>` implements it.
///
/// ```
/// use gadgetry::HumanQuestion;
/// let human = async |question: HumanQuestion| question.text.ends_with('?').then(|| "yes".to_owned());
/// # let _ = gadgetry::Agent::builder().on_human_input(human);
/// ```
pub trait Human: Send + Sync {
    /// Returns the answer, or `None`. A panic counts as no answer.
    ///
    /// Cancel safety: the future is dropped when the answer is no longer wanted.
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>>;
}

impl<F, R> Human for F
where
    F: Fn(HumanQuestion) -> R + Send + Sync,
    R: Future<Output = Option<String>> + Send + 'static,
{
    fn ask(&self, question: HumanQuestion) -> BoxFuture<'_, Option<String>> {
        Box::pin(self(question))
    }
}

/// Asks `human` when it is this question's turn. The question joins the queue now, not when the future is first polled.
pub(crate) fn ask_in_turn(
    scope: &BudgetScope,
    human: Arc<dyn Human>,
    question: HumanQuestion,
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
