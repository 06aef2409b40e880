//! The context of a running gadget.
//!
//! [`ExecutionContext`] knows its call and the [`Host`] around it, and does not depend on the driver. Methods that need more are
//! defined next to their types: [`ExecutionContext::model`] in [`model_client`](crate::model_client),
//! [`ExecutionContext::subagent`] and [`ExecutionContext::services`] in [`driver`](crate::driver).

mod host;
mod invocation;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use futures_util::future::{Either, OptionFuture, select};
use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::trace::TraceContext;

#[doc(no_inline)]
pub use gadgetry_proto::{
    id::{CallId, InvocationId},
    run::Report,
};
pub use tokio_util::sync::CancellationToken;

use crate::ask::random_id;
use crate::error::GadgetError;
use crate::human::{HumanQuestion, ask_in_turn};
use crate::run_context::{MissingValue, RunContext, Values};

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
    /// True if the gadget can notice that it was cancelled.
    watches: AtomicBool,
    dependencies: BTreeMap<InvocationId, Arc<str>>,
    account: Mutex<Account>,
    slot: Option<CallSlot>,
    /// Replaces the id of a run, for a call without a run.
    random_id: OnceLock<String>,
    /// Decision about the call: `Approved` of the module `gadget`.
    approved: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
    /// True if the gadget found that its effects differ from the approved ones.
    changed: AtomicBool,
}

/// Costs of a call, and whether it is over.
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
            random_id: OnceLock::new(),
            approved: Mutex::default(),
            changed: AtomicBool::new(false),
        }))
    }

    /// Sets the decision about the call.
    pub(crate) fn set_approved(&self, approved: Arc<dyn Any + Send + Sync>) {
        let slot = self.0.approved.lock();
        *slot.unwrap_or_else(PoisonError::into_inner) = Some(approved);
    }

    /// Returns the decision about the call.
    pub(crate) fn approved(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        let slot = self.0.approved.lock();
        slot.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that the call's effects now differ from the approved ones.
    pub(crate) fn set_changed(&self) {
        self.0.changed.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`set_changed`](Self::set_changed) was called since the last call.
    pub(crate) fn take_changed(&self) -> bool {
        self.0.changed.swap(false, Ordering::Relaxed)
    }

    /// Creates the context of a call that is executed apart from its run, such as on another machine, with the call's
    /// [key](Self::idempotency_key) in that run.
    ///
    /// ```
    /// use gadgetry::{CancellationToken, ExecutionContext, Invocation};
    ///
    /// let invocation = Invocation {
    ///     gadget_name: "Pay".to_owned(),
    ///     invocation_id: "p".into(),
    ///     parameters: gadgetry::serde_json::json!({}),
    ///     dependencies: Default::default(),
    /// };
    /// let context = ExecutionContext::with_key(&invocation, CancellationToken::new(), "invoice-42/5");
    /// assert_eq!(context.idempotency_key(), "invoice-42/5");
    /// ```
    pub fn with_key(
        invocation: &Invocation,
        cancellation: CancellationToken,
        key: impl Into<String>,
    ) -> Self {
        let context = Self::of(invocation, cancellation, None);
        // It was made just now, so it has none yet.
        let _ = context.0.random_id.set(key.into());
        context
    }

    /// Returns the name of the gadget, as registered.
    pub fn gadget_name(&self) -> &str {
        &self.0.gadget_name
    }

    /// Returns the id of the call.
    pub fn invocation_id(&self) -> &InvocationId {
        &self.0.invocation_id
    }

    /// Returns the trace that the call belongs to, for requests of the gadget to other services:
    /// [`TraceContext::traceparent`] is the header. `None` without traces; see [`Hook::trace_context`](crate::Hook::trace_context).
    pub fn trace_context(&self) -> Option<&TraceContext> {
        self.slot()?.trace.as_ref()
    }

    /// Returns the number of the reply that contains the call, from 1; 0 without a run.
    pub fn iteration(&self) -> u32 {
        self.slot().map_or(0, |slot| slot.iteration)
    }

    /// Returns the idempotency key of the call: the same for every execution of it, and unique otherwise.
    ///
    /// A gadget that may be executed again after an interruption, and changes something elsewhere, sends it along, for example as
    /// the header `Idempotency-Key`, so that the other side recognises a repeated request. It is ASCII: the id of the run and the
    /// number of the call, as `invoice-42/5`; in a subagent also the path to it, as `invoice-42/5.0/2`. Another process derives
    /// the same key if its run has the same [`BudgetScope::run_id`](crate::BudgetScope::run_id). Without a run the key is random.
    ///
    /// ```
    /// use gadgetry::{ExecutionContext, GadgetError};
    ///
    /// async fn pay(cents: u64, context: &ExecutionContext) -> Result<String, GadgetError> {
    ///     let header = ("Idempotency-Key", context.idempotency_key());
    ///     Ok(format!("would send {cents} with {header:?}"))
    /// }
    /// ```
    pub fn idempotency_key(&self) -> String {
        let random_id = || self.0.random_id.get_or_init(random_id).as_str();
        let Some(slot) = self.slot() else {
            return random_id().to_owned();
        };
        let scope = slot.host.scope();
        let run_id = scope.run_id.as_deref().unwrap_or_else(random_id);
        scope.key(run_id, slot.call)
    }

    /// Returns the nesting depth of the run: 0 for a top-level run, 1 for its subagents.
    pub fn depth(&self) -> u32 {
        self.host().map_or(0, |host| host.scope().depth)
    }

    /// Returns the run of the call; `None` without one.
    pub fn run(&self) -> Option<&RunContext> {
        self.host()?.run()
    }

    /// Returns the run's value of this type, such as a database or the current user: from
    /// [`AgentRun::with`](crate::AgentRun::with), else from [`AgentBuilder::with`](crate::AgentBuilder::with), else from the run
    /// that started this one.
    ///
    /// # Errors
    ///
    /// [`MissingValue`] without such a value, and without a run.
    ///
    /// ```
    /// use gadgetry::{ExecutionContext, GadgetError};
    ///
    /// struct Tenant(String);
    ///
    /// async fn orders(context: &ExecutionContext) -> Result<String, GadgetError> {
    ///     let tenant = context.get::<Tenant>()?;
    ///     Ok(format!("no orders of {}", tenant.0))
    /// }
    /// ```
    pub fn get<T: Any + Send + Sync>(&self) -> Result<&T, MissingValue> {
        match self.run() {
            Some(run) => run.get(),
            None => Values::missing(),
        }
    }

    /// Returns the result of a call that this one declared as a dependency; `None` for any other.
    pub fn dependency(&self, invocation_id: &str) -> Option<&str> {
        self.0.dependencies.get(invocation_id).map(AsRef::as_ref)
    }

    /// Returns the results of all calls that this one declared as dependencies.
    pub fn dependencies(&self) -> &BTreeMap<InvocationId, Arc<str>> {
        &self.0.dependencies
    }

    /// Returns the token that is cancelled with the run, and when the gadget times out.
    ///
    /// The gadget then has time to clean up before it is dropped: 2 seconds, or
    /// [`AgentBuilder::grace`](crate::AgentBuilder::grace). A gadget that uses neither this nor
    /// [`throw_if_cancelled`](Self::throw_if_cancelled), starts no subagent and asks no question is dropped at once.
    ///
    /// The token is also cancelled once the gadget is done or dropped, so that work that it has spawned can end with it.
    pub fn cancellation(&self) -> &CancellationToken {
        self.0.watches.store(true, Ordering::Relaxed);
        &self.0.cancellation
    }

    /// Returns the token without noting that the gadget watches it, for code that is not the gadget's.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0.cancellation
    }

    /// Returns the time that the gadget may take to clean up.
    pub(crate) fn grace(&self) -> Duration {
        // A gadget that never took its token cannot notice that it was cancelled.
        let host = self
            .host()
            .filter(|_| self.0.watches.load(Ordering::Relaxed));
        // Half for each level, so that subagents end first and report what they have cost.
        let share = 2_u32.saturating_pow(self.depth());
        host.map_or(Duration::ZERO, |host| host.grace() / share)
    }

    /// Returns an error once the call is cancelled, for `?` between the steps of a long gadget.
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

    /// Adds `dollars` to the cost of the call. They count however the call ends; reports after its end are ignored.
    ///
    /// # Errors
    ///
    /// [`InvalidCost`] if `dollars` is negative or not finite.
    pub fn report_cost(&self, dollars: f64) -> Result<(), InvalidCost> {
        if !dollars.is_finite() || dollars < 0.0 {
            return Err(InvalidCost(dollars));
        }
        self.enter_cost(dollars, Report::Cost(dollars));
        Ok(())
    }

    /// Adds `dollars` to the cost of the call, which `report` sends to the run.
    pub(crate) fn enter_cost(&self, dollars: f64, report: Report) {
        let mut account = self.account();
        if account.closed {
            return;
        }
        account.dollars = (account.dollars + dollars).min(f64::MAX);
        let Some(slot) = self.slot() else {
            return;
        };
        // Not only when the call ends: other runs of the scope must see it at once.
        slot.host.spend(dollars);
        drop(account);
        // And the run, because the gadget may be interrupted before its end.
        if dollars > 0.0 {
            slot.host.report(slot.call, report);
        }
    }

    /// Returns the US dollars reported so far, including calls of [`ExecutionContext::model`].
    pub fn reported_cost(&self) -> f64 {
        self.account().dollars
    }

    /// Ends the call: later reports are ignored. Returns its cost.
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

    /// Returns the US dollars left in the budget that the run shares with its subagents; `None` without a budget.
    pub fn budget_left(&self) -> Option<f64> {
        self.host().and_then(|host| host.scope().left())
    }

    /// Reports progress to the observers of the run. Never waits.
    pub fn progress(&self, message: impl Into<String>) {
        self.report(Report::Progress(message.into()));
    }

    /// Asks the user and waits for the answer. Questions are asked one at a time, in order.
    ///
    /// A call that was interrupted and is executed again does not repeat an answered question: if it asks the same questions in
    /// the same order, it receives their answers at once.
    ///
    /// # Errors
    ///
    /// [`HumanError`] if no user is available, if there is no answer, and when the call is cancelled.
    ///
    /// Cancel safety: dropping the future withdraws the question.
    pub async fn ask_human(&self, question: impl Into<String>) -> Result<String, HumanError> {
        let slot = self.slot().ok_or(HumanError::Nobody)?;
        let number = slot.questions.fetch_add(1, Ordering::Relaxed);
        let question = question.into();
        let mut kept = slot.answered.iter();
        if let Some(kept) = kept.find(|it| it.number == number && it.question == question) {
            return Ok(kept.answer.clone());
        }
        let host = &slot.host;
        let asked = host.human().map(|human| {
            let run = match host.run() {
                Some(run) => Arc::clone(run.info()),
                None => Arc::new(host.scope().info("")),
            };
            let question = HumanQuestion::new(&question, run).of(slot.call, self.gadget_name());
            ask_in_turn(host.scope(), Arc::clone(human), question)
        });
        let outside = host.outside_answer(slot.call, number);
        if asked.is_none() && outside.is_none() {
            return Err(HumanError::Nobody);
        }
        self.report(Report::HumanQuestion { number, question });
        let mut open = OpenQuestion {
            context: self,
            number,
            answer: None,
        };
        let answer = first(asked, outside);
        let answer = self.cancellation().run_until_cancelled(answer).await;
        let answer = answer
            .ok_or(HumanError::Cancelled)?
            .ok_or(HumanError::NoAnswer)?;
        open.answer = Some(answer.clone());
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

/// Waits for the first of several possible answers.
async fn first(
    asked: Option<impl Future<Output = Option<String>> + Send + 'static>,
    outside: Option<BoxFuture<'static, Option<String>>>,
) -> Option<String> {
    let asked = OptionFuture::from(asked).then(or_never).boxed();
    let outside = OptionFuture::from(outside).then(or_never).boxed();
    match select(asked, outside).await {
        Either::Left((answer, _)) | Either::Right((answer, _)) => answer,
    }
}

/// Waits forever if there is nothing to wait for.
async fn or_never<T>(value: Option<T>) -> T {
    match value {
        Some(value) => value,
        None => pending().await,
    }
}

/// An open question to the user. Dropping it reports its end, for whatever reason.
struct OpenQuestion<'a> {
    context: &'a ExecutionContext,
    number: u32,
    answer: Option<String>,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.context.report(Report::HumanAnswer {
            number: self.number,
            answer: self.answer.take(),
        });
    }
}

/// Error for an invalid cost that a gadget reported: a mistake in the gadget.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a cost must be a finite amount of US dollars, 0 or more, got {0}")]
pub struct InvalidCost(pub f64);

impl Classified for InvalidCost {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

/// Error for a question to the user without an answer. A gadget that needs the answer fails with it.
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

impl Classified for HumanError {
    fn fault(&self) -> Fault {
        match self {
            Self::Nobody => Fault::Program,
            Self::NoAnswer | Self::Cancelled => Fault::Caller,
        }
    }
}
