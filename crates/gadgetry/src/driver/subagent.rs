//! A run inside a gadget.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gadgetry_proto::error::{Classified, Fault};
use gadgetry_proto::event::Event;
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Command, Input, Report, Run};
use gadgetry_proto::time::Time;
use tokio::sync::mpsc;

use crate::context::ExecutionContext;
use crate::driver::{RunResult, drive_recorded};
use crate::journal::{DurableRun, Recording};
use crate::observer::Observer;
use crate::scope::NOTHING;
use crate::services::Services;

/// A run that a gadget drives inside its own call.
///
/// It is cancelled with the call, spends the budget of its scope, and asks the same user. Its events become events of the parent
/// with a longer [`path`](Event::path), and the parent counts their costs: a gadget must not report these again.
///
/// ```
/// use std::sync::Arc;
/// use gadgetry::driver::{Registry, Run, RunConfig};
/// use gadgetry::{Event, ExecutionContext, GadgetError, Toolbox};
///
/// async fn research(question: &str, context: ExecutionContext) -> Result<String, GadgetError> {
///     let mut subagent = context.subagent()?;
///     subagent.services.toolbox = Arc::new(Toolbox::default());
///     let config = RunConfig { asks: subagent.services.asks(), ..RunConfig::default() };
///     let run = Run::ask(&config.plan(Registry::default())?, question);
///     let (_commands, receiver) = tokio::sync::mpsc::channel(1);
///     Ok(subagent.drive(run, receiver, &mut |_: &Event| {}).await.summary.answer)
/// }
/// ```
#[derive(Debug)]
pub struct Subagent {
    /// Services of the subagent: those of the parent, with a separate scope.
    pub services: Services,
    parent: ExecutionContext,
    agent: u32,
}

impl ExecutionContext {
    /// Prepares a subagent of this call.
    ///
    /// # Errors
    ///
    /// [`SubagentError`] without a run, at the maximum depth of subagents, and if the budget is spent.
    pub fn subagent(&self) -> Result<Subagent, SubagentError> {
        let services = self.services().ok_or(SubagentError::NoRun)?;
        let exhausted = services.scope.left().is_some_and(|left| left <= 0.0);
        // The depth is the better reason: it would still be refused with more money.
        if exhausted && services.scope.depth < services.scope.max_depth {
            return Err(SubagentError::BudgetExhausted);
        }
        Ok(self.subagent_parent()?.subagent())
    }

    /// The call as a parent of subagents, even if the budget is spent; their runs then end for that reason.
    pub(crate) fn subagent_parent(&self) -> Result<SubagentParent, SubagentError> {
        let services = self.services().ok_or(SubagentError::NoRun)?;
        let limit = services.scope.max_depth;
        if services.scope.depth >= limit {
            return Err(SubagentError::TooDeep { limit });
        }
        let mut services = services.clone();
        if let Some(trace) = self.trace_context() {
            services.values.insert(trace.clone());
        }
        Ok(SubagentParent {
            context: self.clone(),
            services,
        })
    }
}

/// A call that may start subagents: it belongs to a run, and their depth was checked.
#[derive(Clone)]
pub(crate) struct SubagentParent {
    context: ExecutionContext,
    /// Services of the parent run.
    pub(crate) services: Services,
}

impl SubagentParent {
    /// Prepares one more subagent.
    pub(crate) fn subagent(&self) -> Subagent {
        let slot = self.context.slot();
        let agent = slot.map_or(0, |slot| slot.agents.fetch_add(1, Ordering::Relaxed));
        // Here and not before: a call that has taken its token gets a grace period.
        let token = self.context.cancellation().child_token();
        let call = slot.map_or(CallId(0), |slot| slot.call);
        Subagent {
            services: Services {
                scope: self.services.scope.child(token, call, agent),
                hooks: self.services.hooks.of_subagent(),
                ..self.services.clone()
            },
            parent: self.context.clone(),
            agent,
        }
    }
}

impl Subagent {
    /// Returns its number among the subagents of its call, from 0.
    pub fn number(&self) -> u32 {
        self.agent
    }

    /// Returns the location in the journal of the parent, if that is durable.
    pub(crate) fn durable(&self) -> Option<DurableRun> {
        let parent = self.parent.services()?.durable.as_ref()?;
        let call = self.parent.slot()?.call;
        Some(DurableRun {
            journal: Arc::clone(&parent.journal),
            id: parent.id.subagent(call, self.agent),
        })
    }

    /// Reports to the parent the cost of this subagent according to its own journal, which may be more than that of the events in
    /// the parent's journal: the process may have ended between the two. The difference is a cost of the gadget.
    pub(crate) fn report_missing_cost(&self, total: f64) {
        let known = self.parent.slot().map(|slot| &slot.subagent_costs);
        let known = known.and_then(|costs| costs.get(&self.agent).copied());
        let missing = total - known.unwrap_or_default();
        if missing > NOTHING {
            let report = Report::SubagentCost {
                agent: self.agent,
                dollars: missing,
            };
            self.parent.enter_cost(missing, report);
        }
    }

    /// Drives `run` to its end; see [`drive`](crate::drive). `observer` receives everything that an observer of a run receives.
    ///
    /// Cancel safety: dropping the future ends the subagent and its gadgets; the parent knows its events until then. Costs that
    /// its running gadgets had reported count for the budget, but are not in the parent's total.
    pub async fn drive(
        self,
        run: Run,
        commands: mpsc::Receiver<Command>,
        observer: &mut dyn Observer,
    ) -> RunResult {
        self.drive_recorded(run, None, commands, observer).await
    }

    /// [`Subagent::drive`] with a journal.
    pub(crate) async fn drive_recorded(
        self,
        run: Run,
        recording: Option<Recording>,
        commands: mpsc::Receiver<Command>,
        observer: &mut dyn Observer,
    ) -> RunResult {
        let mut forward = Forward {
            observer,
            parent: &self.parent,
            agent: self.agent,
        };
        drive_recorded(run, &self.services, recording, commands, &mut forward).await
    }
}

/// Reports the events to the parent as well.
struct Forward<'a> {
    observer: &'a mut dyn Observer,
    parent: &'a ExecutionContext,
    agent: u32,
}

impl Observer for Forward<'_> {
    fn event(&mut self, event: &Event) {
        self.observer.event(event);
        self.parent.report(Report::Child {
            agent: self.agent,
            event: Box::new(event.clone()),
        });
    }

    fn input(&mut self, time: Time, input: &Input) {
        self.observer.input(time, input);
    }

    fn request(&mut self, request: &Request) {
        self.observer.request(request);
    }
}

/// Error for a subagent that cannot be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubagentError {
    /// The context belongs to no run, as in a test.
    #[error("a subagent needs a parent, and this call belongs to no run")]
    NoRun,
    /// [`BudgetScope::max_depth`](crate::BudgetScope::max_depth) is reached.
    #[error(
        "subagents may be nested {limit} deep, and this run is: do the work without a further one"
    )]
    TooDeep {
        /// The maximum depth.
        limit: u32,
    },
    /// [`BudgetScope::budget`](crate::BudgetScope::budget) is spent.
    #[error("the budget is spent: finish without a subagent")]
    BudgetExhausted,
}

impl Classified for SubagentError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
