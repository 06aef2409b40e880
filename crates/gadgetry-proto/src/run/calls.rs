//! What becomes of calls: admitted, scheduled, refused. Every call that a reply announced is answered exactly once.

use std::sync::Arc;

use crate::call::{Call, amount};
use crate::error::{Diagnostic, DiagnosticCode};
use crate::event::EventKind;
use crate::id::{CallId, InvocationId};
use crate::run::Run;
use crate::run::question::QuestionKind;
use crate::run::references;
use crate::run::spec::{OnUnmet, RunSpec};
use crate::run::state::{Pending, Record, Status};
use crate::sched::Action;
use crate::sched::Job;
use crate::sched::SkipDecision;
use crate::sched::Unmet;
use crate::sched::over_limit;

impl Run {
    /// A block is complete: it waits for its turn, or is answered at once because it cannot run.
    pub(super) fn admit(&mut self, id: CallId, call: Arc<Call>) {
        let registry = Arc::clone(&self.spec.registry);
        let gadget = registry.get(&call.gadget_name);
        let cap = calls_per_reply(&self.spec);
        let surplus = self.state.calls.len() >= cap as usize;
        // A call too many is told so in few words, whatever else is wrong with it.
        let examined = if surplus {
            Ok(None)
        } else {
            self.examine(&call, gadget)
        };
        if !surplus {
            self.tell_undeclared(&call);
        }
        let invocation_id = call.invocation_id.clone();
        let job = gadget.map(|gadget| Job {
            dependencies: call.dependencies.clone(),
            max_concurrent: gadget.spec().max_concurrent,
            exclusive: gadget.spec().exclusive,
            ..Job::new(id, invocation_id.clone(), gadget.name())
        });
        let (parameters, error) = match examined {
            Ok(parameters) => (parameters, None),
            Err(error) => (None, Some(error)),
        };
        self.state.has_called = true;
        self.state.calls.push(Record {
            id,
            call,
            gadget: gadget.map(|gadget| gadget.name().to_owned()),
            parameters: parameters.map(Arc::new),
            status: Status::Waiting,
            told: None,
        });
        match (error, job) {
            (Some(error), _) => {
                self.state
                    .scheduler
                    .add_failed(invocation_id, error.clone());
                self.answer(id, Err(error.into()), 0, 0.0);
            }
            (None, Some(job)) => self.state.scheduler.add(job),
            (None, None) => {
                let unmet = over_limit(id, cap);
                self.state
                    .scheduler
                    .add_failed(invocation_id, unmet.error.clone());
                self.skip(unmet);
            }
        }
        self.dispatch();
    }

    /// A reference to a call that is not among the dependencies is text, which is hardly what the model meant.
    fn tell_undeclared(&mut self, call: &Call) {
        let calls = &self.state.calls;
        let results = &self.state.results;
        let is_known = |id: &InvocationId| {
            results.contains_key(id) || calls.iter().any(|known| known.call.invocation_id == *id)
        };
        let Some(id) = references::undeclared(call, is_known) else {
            return;
        };
        let (name, own) = (&call.gadget_name, &call.invocation_id);
        let message = if self.spec.tools.reads_blocks() {
            let start = self.spec.markers.start();
            format!(
                "${{{id}}} in the call {own} stayed text, because {id} is not among its dependencies; write \
                 {start}{name}:{own}:{id}"
            )
        } else {
            format!(
                "${{{id}}} in the call {own} stayed text: a call through the provider's interface has no dependencies"
            )
        };
        self.note(&message);
        self.tell(EventKind::Diagnostic(Diagnostic {
            code: DiagnosticCode::UndeclaredReference,
            message,
            span: call.span,
        }));
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
        if self.spec.asks.dependency_skipped
            && let Some(about) = self.about(id)
        {
            let question = QuestionKind::DependencySkipped {
                about,
                failed_dependency: unmet.failed_dependency.clone(),
                error: unmet.error.clone(),
            };
            self.ask_for(Pending::Unmet(unmet), question);
            return;
        }
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

    /// Adds to what the run costs. What is no amount is refused: nothing makes a run cheaper.
    pub(super) fn charge(&mut self, dollars: f64) -> f64 {
        let cost = amount(dollars);
        self.state.total_cost = (self.state.total_cost + cost).min(f64::MAX);
        cost
    }

    /// Whether the gadget of this call has been started and has not come back.
    pub(super) fn is_expected(&self, id: CallId) -> bool {
        let slot = self.state.numbers.slot(id);
        let record = slot.and_then(|at| self.state.calls.get(at));
        self.state.cancelled.contains_key(&id)
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
