//! What becomes of calls: admitted, started, answered. Every call that a reply announced is answered exactly once.

use std::sync::Arc;
use std::time::Duration;

use crate::call::{Call, Outcome, amount};
use crate::event::EventKind;
use crate::id::CallId;
use crate::run::Run;
use crate::run::io::Output;
use crate::run::spec::{OnUnmet, RunSpec};
use crate::run::state::{Record, Status};
use crate::sched::Action;
use crate::sched::Job;
use crate::sched::SkipDecision;
use crate::sched::Unmet;
use crate::sched::over_limit;

impl Run {
    /// A block is complete: it waits for its turn, or is answered at once because it cannot run.
    pub(super) fn admit(&mut self, call: Call) {
        let id = CallId(self.state.first_call + index(self.state.calls.len()));
        let registry = Arc::clone(&self.spec.registry);
        let gadget = registry.get(&call.gadget_name);
        let cap = calls_per_reply(&self.spec);
        let surplus = self.state.calls.len() >= cap as usize;
        // A call too many is told so in few words, whatever else is wrong with it.
        let refused = if surplus { None } else { self.refusal(&call) };
        let invocation_id = call.invocation_id.clone();
        let job = gadget.map(|gadget| Job {
            dependencies: call.dependencies.clone(),
            max_concurrent: gadget.spec().max_concurrent,
            exclusive: gadget.spec().exclusive,
            ..Job::new(id, invocation_id.clone(), gadget.name())
        });
        let gadget = gadget.map(|gadget| gadget.name().to_owned());
        self.state.calls.push(Record {
            call,
            gadget,
            status: Status::Waiting,
        });
        match (refused, job) {
            (None, Some(job)) => self.state.scheduler.add(job),
            (None, None) if surplus => {
                let unmet = over_limit(id, cap);
                self.state
                    .scheduler
                    .add_failed(invocation_id, unmet.error.clone());
                self.skip(unmet);
            }
            (refused, _) => {
                let error = refused.unwrap_or_default();
                self.state
                    .scheduler
                    .add_failed(invocation_id, error.clone());
                self.answer(id, Err(error.into()), 0, 0.0);
            }
        }
        self.dispatch();
    }

    /// Does what the scheduler wants.
    pub(super) fn dispatch(&mut self) {
        while let Some(action) = self.state.scheduler.poll() {
            match action {
                Action::Start(id) => self.start(id),
                Action::Unmet(unmet) => self.unmet(unmet),
                Action::OverLimit(unmet) => self.skip(unmet),
                Action::Reject { id, error } => self.answer(id, Err(error.into()), 0, 0.0),
            }
        }
    }

    fn unmet(&mut self, unmet: Unmet) {
        let id = unmet.id;
        let decision = match &self.spec.on_unmet {
            OnUnmet::Skip => SkipDecision::Skip,
            OnUnmet::Execute => SkipDecision::Execute,
            OnUnmet::Fallback(_) => SkipDecision::Fallback,
        };
        self.state.scheduler.decide(id, decision);
        match &self.spec.on_unmet {
            OnUnmet::Skip => self.skip(unmet),
            OnUnmet::Execute => {}
            OnUnmet::Fallback(result) => {
                let result = Arc::from(result.as_str());
                self.answer(id, Ok(result), 0, 0.0);
            }
        }
    }

    fn start(&mut self, id: CallId) {
        let prepared = self.prepare(id);
        let now = self.state.now;
        let (start, timeout_ms) = match prepared {
            Ok(Some(prepared)) => prepared,
            Ok(None) => return,
            Err(error) => {
                self.state.scheduler.finish(id, Err(error.clone()));
                return self.answer(id, Err(error.into()), 0, 0.0);
            }
        };
        let deadline = timeout_ms.map(|timeout| now + Duration::from_millis(timeout));
        if let Some(deadline) = deadline {
            self.state.deadlines.insert((deadline, id));
        }
        let Some(record) = self.record(id) else {
            return;
        };
        record.status = Status::Running {
            since: now,
            deadline,
        };
        let gadget_name = record.call.gadget_name.clone();
        self.tell(EventKind::GadgetStart {
            invocation_id: start.invocation_id.clone(),
            gadget_name,
        });
        self.put(Output::Start(start));
    }

    /// A gadget is done.
    pub(super) fn done(&mut self, id: CallId, outcome: Outcome) {
        let cost = self.charge(outcome.cost);
        self.state.cancelled.remove(&id);
        let now = self.state.now;
        let (since, deadline) = match self.record(id).map(|record| &mut record.status) {
            Some(Status::Running { since, deadline }) => (since, deadline),
            // Its time was up and it has been answered; now its place is free.
            Some(Status::Answered(Err(error))) => {
                let error = error.as_ref().to_owned();
                self.state.scheduler.finish(id, Err(error));
                return self.dispatch();
            }
            Some(Status::Waiting | Status::Answered(Ok(_))) | None => return,
        };
        let duration = now.since(*since);
        if let Some(deadline) = deadline.take() {
            self.state.deadlines.remove(&(deadline, id));
        }
        if outcome.completes_run {
            self.state.completed = Some(outcome.result.clone().unwrap_or_else(|error| error));
        }
        let finished = outcome.result.as_ref().map(|_| ()).map_err(Clone::clone);
        self.answer(
            id,
            outcome.result.map(Arc::from).map_err(Arc::from),
            duration,
            cost,
        );
        self.state.scheduler.finish(id, finished);
        self.dispatch();
    }

    /// Adds to what the run costs. What is no amount is refused: nothing makes a run cheaper.
    pub(super) fn charge(&mut self, dollars: f64) -> f64 {
        let cost = amount(dollars);
        self.state.total_cost = (self.state.total_cost + cost).min(f64::MAX);
        cost
    }

    /// Whether the gadget of this call has been started and has not come back.
    pub(super) fn is_expected(&self, id: CallId) -> bool {
        let at = id.0.checked_sub(self.state.first_call);
        let record = at.and_then(|at| self.state.calls.get(at as usize));
        self.state.cancelled.contains(&id)
            || record.is_some_and(|record| matches!(record.status, Status::Running { .. }))
    }
}

/// The stricter of the run's own limit and the cap.
pub(super) fn calls_per_reply(spec: &RunSpec) -> u32 {
    let cap = index(spec.limits.calls_per_reply);
    let own = spec.schedule.max_per_reply.filter(|limit| *limit > 0);
    own.map_or(cap, |own| own.min(cap))
}

/// No run has more calls than this.
pub(super) fn index(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
