//! What a running gadget is given beside its parameters.

mod invocation;
mod subagent;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gadgetry_proto::id::{CallId, InvocationId};
use gadgetry_proto::run::Report;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

pub use tokio_util::sync::CancellationToken;

use crate::family::Share;
use crate::gadget::GadgetError;
use crate::human::ask_in_turn;
use crate::model_client::ModelClient;
use crate::services::Services;

pub use invocation::Invocation;
pub(crate) use invocation::panic_text;
pub use subagent::{Subagent, SubagentError};

/// What a gadget is given beside its parameters: who it is, and what it may ask for. Clones are the same context.
///
/// Without a run, as in a test, there is no model, no person and no budget, and nobody hears of progress.
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
    seat: Option<Seat>,
}

/// What a call has cost, and whether it is over.
#[derive(Default)]
struct Account {
    dollars: f64,
    closed: bool,
}

/// The place of a call in a run.
pub(crate) struct Seat {
    pub(crate) host: Arc<Host>,
    pub(crate) call: CallId,
    pub(crate) iteration: u32,
    /// How many subagents this call has started.
    pub(crate) agents: AtomicU32,
}

/// What all calls of a run share.
pub(crate) struct Host {
    pub(crate) services: Services,
    pub(crate) share: Share,
    pub(crate) reports: UnboundedSender<(CallId, Report)>,
}

impl ExecutionContext {
    /// The context of `invocation` without a run. It ends when `cancellation` is cancelled.
    pub fn new(invocation: &Invocation, cancellation: CancellationToken) -> Self {
        Self::seated(invocation, cancellation, None)
    }

    /// The context of `invocation` as in the first reply of a run that is driven with `services`: there is their model,
    /// their person and what is left of their family's budget. Nobody hears of progress, and nobody cancels it but
    /// `cancellation`. For tests, and for gadgets that are called outside of a run.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use std::sync::Arc;
    /// use gadgetry::proto::id::InvocationId;
    /// use gadgetry::{CancellationToken, ExecutionContext, Family, Invocation, ScriptedModel, Services, Toolbox};
    ///
    /// let invocation = Invocation {
    ///     gadget_name: "Test".to_owned(),
    ///     invocation_id: InvocationId::from("t"),
    ///     parameters: gadgetry::serde_json::json!({}),
    ///     dependencies: BTreeMap::new(),
    /// };
    /// let model: ScriptedModel = r#"{"text": "Hello!"}"#.parse()?;
    /// let mut services = Services::new(Arc::new(model), Toolbox::default());
    /// services.family = Family::limited_to(0.5);
    /// let context = ExecutionContext::with_services(&invocation, CancellationToken::new(), services);
    /// context.report_cost(0.25)?;
    /// assert_eq!(context.budget_left(), Some(0.25));
    /// assert_eq!(context.model().map(|model| model.name().to_owned()).as_deref(), Some("script"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_services(
        invocation: &Invocation,
        cancellation: CancellationToken,
        services: Services,
    ) -> Self {
        let (reports, _) = unbounded_channel();
        let share = Share::of(&services.family);
        let seat = Seat {
            host: Arc::new(Host {
                services,
                share,
                reports,
            }),
            call: CallId(0),
            iteration: 1,
            agents: AtomicU32::new(0),
        };
        Self::seated(invocation, cancellation, Some(seat))
    }

    pub(crate) fn seated(
        invocation: &Invocation,
        cancellation: CancellationToken,
        seat: Option<Seat>,
    ) -> Self {
        Self(Arc::new(Inner {
            gadget_name: invocation.gadget_name.clone(),
            invocation_id: invocation.invocation_id.clone(),
            cancellation,
            watches: AtomicBool::new(false),
            dependencies: invocation.dependencies.clone(),
            account: Mutex::default(),
            seat,
        }))
    }

    /// The gadget, as registered.
    pub fn gadget_name(&self) -> &str {
        &self.0.gadget_name
    }

    /// The id of the call.
    pub fn invocation_id(&self) -> &InvocationId {
        &self.0.invocation_id
    }

    /// The number of the reply that has the call, from 1; 0 without a run.
    pub fn iteration(&self) -> u32 {
        self.seat().map_or(0, |seat| seat.iteration)
    }

    /// How deep the run is: 0 for one that nobody's gadget has started, 1 for its subagents.
    pub fn depth(&self) -> u32 {
        self.services().map_or(0, |services| services.family.depth)
    }

    /// The result of a call that this one declared as a dependency; `None` for any other.
    pub fn dependency(&self, invocation_id: &str) -> Option<&str> {
        self.0.dependencies.get(invocation_id).map(AsRef::as_ref)
    }

    /// Cancelled when the run is, and when the gadget's time is up. The gadget then has time to tidy up, 2 seconds unless
    /// [`AgentBuilder::grace`](crate::AgentBuilder::grace) says otherwise, before it is dropped. A gadget that calls neither
    /// this nor [`throw_if_cancelled`](Self::throw_if_cancelled), and starts no subagent and asks nobody, is dropped at once.
    ///
    /// Cancelled, too, once the gadget is done or was dropped: work that it has spawned ends with it.
    pub fn cancellation(&self) -> &CancellationToken {
        self.0.watches.store(true, Ordering::Relaxed);
        &self.0.cancellation
    }

    /// The token, for code that is not the gadget's.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0.cancellation
    }

    /// How long the gadget may take to tidy up.
    pub(crate) fn grace(&self) -> Duration {
        let services = self
            .services()
            .filter(|_| self.0.watches.load(Ordering::Relaxed));
        // Subagents end first, and report what they have cost.
        let share = 2_u32.saturating_pow(self.depth());
        services.map_or(Duration::ZERO, |services| services.grace / share)
    }

    /// Fails with [`GadgetError::cancelled`] once the call is cancelled: for `?` between the steps of a long gadget.
    pub fn throw_if_cancelled(&self) -> Result<(), GadgetError> {
        if self.cancellation().is_cancelled() {
            return Err(GadgetError::cancelled());
        }
        Ok(())
    }

    /// Adds `dollars` to the cost of the call. It counts however the call ends, but not once it has ended.
    ///
    /// Fails if that is no finite amount of 0 or more.
    pub fn report_cost(&self, dollars: f64) -> Result<(), InvalidCost> {
        if !dollars.is_finite() || dollars < 0.0 {
            return Err(InvalidCost(dollars));
        }
        let mut account = self.account();
        if account.closed {
            return Ok(());
        }
        account.dollars = (account.dollars + dollars).min(f64::MAX);
        // The rest of the family sees it at once.
        if let Some(seat) = self.seat() {
            seat.host.share.spend(dollars);
        }
        Ok(())
    }

    /// What was reported so far, in US dollars, models of [`ExecutionContext::model`] included.
    pub fn reported_cost(&self) -> f64 {
        self.account().dollars
    }

    /// The call has ended: what comes now comes too late. Gives what it has cost.
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

    /// What the run and all that share its budget may still spend, in US dollars, as of now; `None` without a budget.
    pub fn budget_left(&self) -> Option<f64> {
        self.services().and_then(|services| services.family.left())
    }

    /// Tells whoever watches the run how far the gadget is. Never waits.
    pub fn progress(&self, message: impl Into<String>) {
        self.report(Report::Progress(message.into()));
    }

    /// The model of the run, for the gadget's own questions; what they cost is counted by itself. `None` without a run.
    pub fn model(&self) -> Option<ModelClient> {
        let services = self.services()?;
        let (model, models) = (services.model.clone(), services.models.clone());
        Some(ModelClient::new(self.clone(), model, models))
    }

    /// Asks a person, and waits for the answer. Questions are asked one at a time, in order.
    ///
    /// Fails if there is nobody to ask or no answer, and when the call is cancelled.
    ///
    /// Cancel safety: dropping the future withdraws the question.
    pub async fn ask_human(&self, question: impl Into<String>) -> Result<String, HumanError> {
        let services = self.services().ok_or(HumanError::Nobody)?;
        let human = services.human.clone().ok_or(HumanError::Nobody)?;
        let question = question.into();
        self.report(Report::HumanQuestion(question.clone()));
        let mut asked = Asked {
            context: self,
            answered: false,
        };
        let answer = ask_in_turn(&services.family, human, question);
        let answer = self.cancellation().run_until_cancelled(answer).await;
        let answer = answer
            .ok_or(HumanError::Cancelled)?
            .ok_or(HumanError::NoAnswer)?;
        asked.answered = true;
        Ok(answer)
    }

    /// What the run of the call is driven with; `None` without a run.
    pub fn services(&self) -> Option<&Services> {
        self.seat().map(|seat| &seat.host.services)
    }

    fn seat(&self) -> Option<&Seat> {
        self.0.seat.as_ref()
    }

    fn report(&self, report: Report) {
        if let Some(seat) = self.seat()
            && !self.account().closed
        {
            // It fails when the run is over; then nobody wants to know.
            let _ = seat.host.reports.send((seat.call, report));
        }
    }

    /// The number of a further subagent.
    fn next_agent(&self) -> u32 {
        self.seat()
            .map_or(0, |seat| seat.agents.fetch_add(1, Ordering::Relaxed))
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

/// A question that was asked. However that ends, the run is told.
struct Asked<'a> {
    context: &'a ExecutionContext,
    answered: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let answered = self.answered;
        self.context.report(Report::HumanAnswer { answered });
    }
}

/// A gadget reported a cost that is none: a mistake in the gadget.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a cost must be a finite amount of US dollars, 0 or more, and not {0}")]
pub struct InvalidCost(pub f64);

/// A person did not answer. Nobody's mistake; a gadget that cannot go on without the answer fails with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HumanError {
    /// The run has no [`Human`](crate::Human).
    #[error("there is nobody to ask")]
    Nobody,
    /// The person gave no answer.
    #[error("the question was not answered")]
    NoAnswer,
    /// The call was cancelled before there was an answer.
    #[error("cancelled before the question was answered")]
    Cancelled,
}
