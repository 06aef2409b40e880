//! The context of a running gadget.
//!
//! [`ExecutionContext`] knows its call and the [`Host`] around it, and does not depend on the driver. Methods that need
//! more than that are written where their types are: [`ExecutionContext::model`] in [`model_client`](crate::model_client),
//! [`ExecutionContext::subagent`] and [`ExecutionContext::services`] in [`driver`](crate::driver).

mod host;
mod invocation;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gadgetry_proto::id::{CallId, InvocationId};
use gadgetry_proto::run::Report;

pub use tokio_util::sync::CancellationToken;

use crate::error::GadgetError;
use crate::human::ask_in_turn;

pub(crate) use host::CallSlot;
pub use host::Host;
pub use invocation::Invocation;

/// The call that a gadget executes, and access to the run around it. Clones are the same context.
///
/// Without a run, as in a test, there is no model, no user and no budget, and progress goes nowhere.
///
/// ```
/// use gadgetry::{ExecutionContext, GadgetError};
///
/// async fn copy(files: &[&str], context: &ExecutionContext) -> Result<String, GadgetError> {
///     for file in files {
///         context.throw_if_cancelled()?;
///         context.progress(format!("copying {file}"));
///         context.report_cost(0.001)?;
///     }
///     Ok(format!("copied {} files", files.len()))
/// }
/// ```
#[derive(Clone)]
pub struct ExecutionContext(Arc<Inner>);

struct Inner {
    gadget_name: String,
    invocation_id: InvocationId,
    cancellation: CancellationToken,
    /// Whether the gadget can notice that it was cancelled.
    watches: AtomicBool,
    dependencies: BTreeMap<InvocationId, Arc<str>>,
    account: Mutex<Account>,
    slot: Option<CallSlot>,
}

/// What a call has cost, and whether it is over.
#[derive(Default)]
struct Account {
    dollars: f64,
    closed: bool,
}

impl ExecutionContext {
    /// Creates the context of `invocation` without a run, cancelled by `cancellation`.
    pub fn new(invocation: &Invocation, cancellation: CancellationToken) -> Self {
        Self::of(invocation, cancellation, None)
    }

    /// Creates the context of `invocation` within `host`, as in its first reply. `call` is the id that the host receives
    /// [reports](Host::report) with.
    pub fn with_host(
        invocation: &Invocation,
        cancellation: CancellationToken,
        host: Arc<dyn Host>,
        call: CallId,
    ) -> Self {
        Self::of(invocation, cancellation, Some(CallSlot::new(host, call, 1)))
    }

    fn of(
        invocation: &Invocation,
        cancellation: CancellationToken,
        slot: Option<CallSlot>,
    ) -> Self {
        let Invocation {
            gadget_name,
            invocation_id,
            parameters: _,
            dependencies,
        } = invocation;
        Self::from_parts(
            gadget_name.clone(),
            invocation_id.clone(),
            dependencies.clone(),
            cancellation,
            slot,
        )
    }

    pub(crate) fn from_parts(
        gadget_name: String,
        invocation_id: InvocationId,
        dependencies: BTreeMap<InvocationId, Arc<str>>,
        cancellation: CancellationToken,
        slot: Option<CallSlot>,
    ) -> Self {
        Self(Arc::new(Inner {
            gadget_name,
            invocation_id,
            cancellation,
            watches: AtomicBool::new(false),
            dependencies,
            account: Mutex::default(),
            slot,
        }))
    }

    /// Returns the name of the gadget, as registered.
    pub fn gadget_name(&self) -> &str {
        &self.0.gadget_name
    }

    /// Returns the id of the call.
    pub fn invocation_id(&self) -> &InvocationId {
        &self.0.invocation_id
    }

    /// Returns the number of the reply that contains the call, from 1; 0 without a run.
    pub fn iteration(&self) -> u32 {
        self.slot().map_or(0, |slot| slot.iteration)
    }

    /// Returns the nesting depth of the run: 0 for a top-level run, 1 for its subagents.
    pub fn depth(&self) -> u32 {
        self.host().map_or(0, |host| host.scope().depth)
    }

    /// Returns the result of a call that this one declared as a dependency; `None` for any other.
    pub fn dependency(&self, invocation_id: &str) -> Option<&str> {
        self.0.dependencies.get(invocation_id).map(AsRef::as_ref)
    }

    /// Returns the token that is cancelled with the run, and when the gadget times out.
    ///
    /// The gadget then has time to clean up, 2 seconds unless [`AgentBuilder::grace`](crate::AgentBuilder::grace) says
    /// otherwise, before it is dropped. A gadget that uses neither this nor
    /// [`throw_if_cancelled`](Self::throw_if_cancelled), starts no subagent and asks no question is dropped at once.
    ///
    /// The token is also cancelled once the gadget is done or was dropped: work that it has spawned ends with it.
    pub fn cancellation(&self) -> &CancellationToken {
        self.0.watches.store(true, Ordering::Relaxed);
        &self.0.cancellation
    }

    /// The token, without noting that the gadget watches it: for code that is not the gadget's.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0.cancellation
    }

    /// Returns how long the gadget may take to clean up.
    pub(crate) fn grace(&self) -> Duration {
        // A gadget that never took its token cannot notice that it was cancelled.
        let host = self
            .host()
            .filter(|_| self.0.watches.load(Ordering::Relaxed));
        // Half for each level, so that subagents end first and report what they have cost.
        let share = 2_u32.saturating_pow(self.depth());
        host.map_or(Duration::ZERO, |host| host.grace() / share)
    }

    /// Returns an error once the call is cancelled: for `?` between the steps of a long gadget.
    ///
    /// # Errors
    ///
    /// [`GadgetError::cancelled`] once the call is cancelled.
    pub fn throw_if_cancelled(&self) -> Result<(), GadgetError> {
        if self.cancellation().is_cancelled() {
            return Err(GadgetError::cancelled());
        }
        Ok(())
    }

    /// Adds `dollars` to the cost of the call. They count however the call ends; after its end they are ignored.
    ///
    /// # Errors
    ///
    /// [`InvalidCost`] if `dollars` is negative or not finite.
    pub fn report_cost(&self, dollars: f64) -> Result<(), InvalidCost> {
        if !dollars.is_finite() || dollars < 0.0 {
            return Err(InvalidCost(dollars));
        }
        let mut account = self.account();
        if account.closed {
            return Ok(());
        }
        account.dollars = (account.dollars + dollars).min(f64::MAX);
        // Not only when the call ends: other runs of the scope must see it at once.
        if let Some(host) = self.host() {
            host.spend(dollars);
        }
        Ok(())
    }

    /// Returns the US dollars reported so far, including calls of [`ExecutionContext::model`].
    pub fn reported_cost(&self) -> f64 {
        self.account().dollars
    }

    /// Ends the call: later reports are ignored. Returns what it has cost.
    pub(crate) fn close(&self) -> f64 {
        let mut account = self.account();
        account.closed = true;
        account.dollars
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.0
            .account
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the US dollars left in the budget of the run and everything that shares it; `None` without a budget.
    pub fn budget_left(&self) -> Option<f64> {
        self.host().and_then(|host| host.scope().left())
    }

    /// Reports progress to the observers of the run. Never waits.
    pub fn progress(&self, message: impl Into<String>) {
        self.report(Report::Progress(message.into()));
    }

    /// Asks the user and waits for the answer. Questions are asked one at a time, in order.
    ///
    /// # Errors
    ///
    /// [`HumanError`] if no user is available, if there is no answer, and when the call is cancelled.
    ///
    /// Cancel safety: dropping the future withdraws the question.
    pub async fn ask_human(&self, question: impl Into<String>) -> Result<String, HumanError> {
        let host = self.host().ok_or(HumanError::Nobody)?;
        let human = Arc::clone(host.human().ok_or(HumanError::Nobody)?);
        let question = question.into();
        self.report(Report::HumanQuestion(question.clone()));
        let mut open = OpenQuestion {
            context: self,
            answered: false,
        };
        let answer = ask_in_turn(host.scope(), human, question);
        let answer = self.cancellation().run_until_cancelled(answer).await;
        let answer = answer
            .ok_or(HumanError::Cancelled)?
            .ok_or(HumanError::NoAnswer)?;
        open.answered = true;
        Ok(answer)
    }

    /// Returns the run around the call; `None` without one.
    pub fn host(&self) -> Option<&Arc<dyn Host>> {
        self.slot().map(|slot| &slot.host)
    }

    pub(crate) fn slot(&self) -> Option<&CallSlot> {
        self.0.slot.as_ref()
    }

    pub(crate) fn report(&self, report: Report) {
        if let Some(slot) = self.slot()
            && !self.account().closed
        {
            slot.host.report(slot.call, report);
        }
    }
}

impl fmt::Debug for ExecutionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutionContext")
            .field("gadget_name", &self.0.gadget_name)
            .field("invocation_id", &self.0.invocation_id)
            .field("iteration", &self.iteration())
            .field("cost", &self.reported_cost())
            .finish_non_exhaustive()
    }
}

/// A question to the user that is open. Its end is reported when it is dropped, whatever ends it.
struct OpenQuestion<'a> {
    context: &'a ExecutionContext,
    answered: bool,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        let answered = self.answered;
        self.context.report(Report::HumanAnswer { answered });
    }
}

/// A gadget reported an invalid cost: a mistake in the gadget.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a cost must be a finite amount of US dollars, 0 or more, got {0}")]
pub struct InvalidCost(pub f64);

/// A question to the user has no answer. A gadget that needs the answer fails with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HumanError {
    /// The run has no [`Human`](crate::Human).
    #[error("no user is available to answer")]
    Nobody,
    /// The user gave no answer.
    #[error("the question was not answered")]
    NoAnswer,
    /// The call was cancelled before there was an answer.
    #[error("cancelled before the question was answered")]
    Cancelled,
}
