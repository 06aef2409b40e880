//! A run inside a gadget.

use gadgetry_proto::event::Event;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Command, Input, Report, Run};
use gadgetry_proto::time::Time;
use tokio::sync::mpsc;

use crate::context::ExecutionContext;
use crate::driver::{Ended, Observer, drive};
use crate::services::Services;

/// A place for a subagent: a run that a gadget drives inside its own call.
///
/// It is cancelled with the call, spends the budget of its family, and asks the same person in turn. Its events become
/// events of the parent with a longer [`path`](Event::path), and the parent counts what it has cost from them: a gadget
/// does not report these costs again.
///
/// ```
/// use std::sync::Arc;
/// use gadgetry::proto::{event::Event, run::{Run, RunSpec}};
/// use gadgetry::{ExecutionContext, GadgetError, Toolbox};
///
/// async fn research(question: &str, context: ExecutionContext) -> Result<String, GadgetError> {
///     let mut subagent = context.subagent()?;
///     subagent.services.toolbox = Arc::new(Toolbox::default());
///     let spec = RunSpec { asks: subagent.services.asks(), ..RunSpec::default() };
///     let run = Run::ask(spec, question)?;
///     let (_commands, receiver) = tokio::sync::mpsc::channel(1);
///     Ok(subagent.drive(run, receiver, &mut |_: &Event| {}).await.summary.answer)
/// }
/// ```
#[derive(Debug)]
pub struct Subagent {
    /// What it will be driven with: at first what the parent is driven with, but for the place in the family.
    pub services: Services,
    parent: ExecutionContext,
    agent: u32,
}

impl ExecutionContext {
    /// A place for a subagent of this call. Fails without a run, if subagents may not be nested any deeper, and if the
    /// budget of the family is spent.
    pub fn subagent(&self) -> Result<Subagent, SubagentError> {
        let services = self.services().ok_or(SubagentError::NoRun)?;
        let nothing_left = services.family.left().is_some_and(|left| left <= 0.0);
        if nothing_left && services.family.depth < services.family.max_depth {
            return Err(SubagentError::NothingLeft);
        }
        self.subagent_place()
    }

    /// The same, whatever is left of the budget.
    pub(crate) fn subagent_place(&self) -> Result<Subagent, SubagentError> {
        let services = self.services().ok_or(SubagentError::NoRun)?;
        let limit = services.family.max_depth;
        if services.family.depth >= limit {
            return Err(SubagentError::TooDeep { limit });
        }
        let agent = self.next_agent();
        let token = self.cancellation().child_token();
        let family = services
            .family
            .child(token, self.invocation_id().as_str(), agent);
        Ok(Subagent {
            services: Services {
                family,
                ..services.clone()
            },
            parent: self.clone(),
            agent,
        })
    }
}

impl Subagent {
    /// Which of the subagents of its call it is, from 0.
    pub fn number(&self) -> u32 {
        self.agent
    }

    /// Runs `run` to its end; see [`drive`]. `observer` sees what an observer of a run sees.
    ///
    /// Cancel safety: dropping the future ends the subagent and its gadgets; the parent knows what had happened. What a
    /// gadget had reported that was still running counts for the budget, but is not in the parent's total.
    pub async fn drive(
        self,
        run: Run,
        commands: mpsc::Receiver<Command>,
        observer: &mut dyn Observer,
    ) -> Ended {
        let mut forward = Forward {
            observer,
            parent: &self.parent,
            agent: self.agent,
        };
        drive(run, &self.services, commands, &mut forward).await
    }
}

/// Tells the parent what happens.
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

/// There is no place for a subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubagentError {
    /// The context belongs to no run, as in a test.
    #[error("a subagent needs a parent, and this call belongs to no run")]
    NoRun,
    /// [`Family::max_depth`](crate::Family::max_depth) is reached.
    #[error(
        "subagents may be nested {limit} deep, and this run is: do the work without a further one"
    )]
    TooDeep {
        /// The depth that may not be passed.
        limit: u32,
    },
    /// [`Family::budget`](crate::Family::budget) is spent.
    #[error("the budget is spent: finish without a subagent")]
    NothingLeft,
}
