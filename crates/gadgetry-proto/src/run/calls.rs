//! What becomes of calls: admitted, started, answered. Every call that a reply announced is answered exactly once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::call::{Call, Outcome, Parameters, TerminatedBy};
use crate::event::{Answer, EventKind};
use crate::id::CallId;
use crate::run::Run;
use crate::run::io::{Output, Start};
use crate::run::references;
use crate::run::spec::OnUnmet;
use crate::run::state::{Record, Status};
use crate::sched::Action;
use crate::sched::Job;
use crate::sched::SkipDecision;
use crate::sched::Unmet;
use crate::spec::invalid_parameters;
use crate::spec::parse_failure;

impl Run {
    /// A block is complete: it waits for its turn, or is answered at once because it cannot run.
    pub(super) fn admit(&mut self, call: Call) {
        let id = CallId(self.state.first_call + index(self.state.calls.len()));
        let registry = Arc::clone(&self.spec.registry);
        let gadget = registry.get(&call.gadget_name);
        let refused = self.refusal(&call);
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

    /// Why a call cannot run, in words for the model.
    fn refusal(&self, call: &Call) -> Option<String> {
        let Some(gadget) = self.spec.registry.get(&call.gadget_name) else {
            return Some(self.spec.registry.unknown_gadget(&call.gadget_name));
        };
        if let Some(cut) = self
            .state
            .cut
            .filter(|_| call.terminated_by == TerminatedBy::EndOfStream)
        {
            let how = cut.words();
            return Some(format!(
                "Error: The call was not executed: the reply was cut off {how} before the block was complete. \
                 Write the call again."
            ));
        }
        match &call.parameters {
            Parameters::Malformed(error) => Some(parse_failure(gadget.name(), error)),
            // What results will bring can only be checked when they are there.
            Parameters::Parsed(_) if references::has_any(call) => None,
            Parameters::Parsed(parameters) => {
                let mut parameters = parameters.clone();
                gadget.schema().apply_defaults(&mut parameters);
                let problems = gadget.schema().validate(&parameters);
                (!problems.is_empty()).then(|| invalid_parameters(gadget.name(), &problems))
            }
        }
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

    fn skip(&mut self, unmet: Unmet) {
        let Unmet {
            id,
            failed_dependency,
            error,
        } = unmet;
        let Some(record) = self.record(id) else {
            return;
        };
        record.status = Status::Answered(Err(Arc::from(error.as_str())));
        let gadget_name = record.call.gadget_name.clone();
        let invocation_id = record.call.invocation_id.clone();
        self.tell(EventKind::GadgetSkipped {
            invocation_id,
            gadget_name,
            failed_dependency,
            error,
        });
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
        if let Some(record) = self.record(id) {
            record.status = Status::Running {
                since: now,
                deadline,
            };
        }
        self.tell(EventKind::GadgetStart {
            invocation_id: start.invocation_id.clone(),
            gadget_name: start.gadget_name.clone(),
        });
        self.put(Output::Start(start));
    }

    /// Parameters with the results that they refer to, completed and valid.
    fn prepare(&mut self, id: CallId) -> Result<Option<(Start, Option<u64>)>, String> {
        let spec = Arc::clone(&self.spec);
        let default_timeout = spec.default_timeout_ms;
        let results = &self.state.results;
        let at = (id.0 - self.state.first_call) as usize;
        let Some(record) = self.state.calls.get(at) else {
            return Ok(None);
        };
        let Some(gadget) = spec.registry.get(&record.call.gadget_name) else {
            return Ok(None);
        };
        let call = &record.call;
        let mut parameters = if references::has_any(call) {
            references::resolve(call, gadget.schema(), &self.stage, results)?
        } else if let Parameters::Parsed(parameters) = &call.parameters {
            parameters.clone()
        } else {
            Value::Null
        };
        gadget.schema().apply_defaults(&mut parameters);
        if references::has_any(call) {
            let problems = gadget.schema().validate(&parameters);
            if !problems.is_empty() {
                return Err(invalid_parameters(gadget.name(), &problems));
            }
        }
        let dependencies: BTreeMap<_, _> = call
            .dependencies
            .iter()
            .filter_map(|id| Some((id.clone(), Arc::clone(results.get(id)?))))
            .collect();
        let start = Start {
            id,
            invocation_id: call.invocation_id.clone(),
            gadget_name: gadget.name().to_owned(),
            parameters,
            dependencies,
        };
        Ok(Some((start, gadget.spec().timeout_ms.or(default_timeout))))
    }

    /// A gadget is done.
    pub(super) fn done(&mut self, id: CallId, outcome: Outcome) {
        // A refused amount is no cost: a gadget cannot make a run cheaper.
        let cost = if outcome.cost.is_finite() {
            outcome.cost.max(0.0)
        } else {
            0.0
        };
        self.state.total_cost += cost;
        self.state.cancelled.remove(&id);
        let now = self.state.now;
        let Some(Record {
            status: Status::Running { since, deadline },
            ..
        }) = self.record(id)
        else {
            return;
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

    /// Answers every running call whose time is over.
    pub(super) fn expire(&mut self) {
        while let Some((deadline, id)) = self.state.deadlines.first().copied() {
            if deadline > self.state.now {
                break;
            }
            self.state.deadlines.remove(&(deadline, id));
            let Some(record) = self.record(id) else {
                continue;
            };
            let Status::Running { since, .. } = record.status else {
                continue;
            };
            let name = record.gadget.clone().unwrap_or_default();
            let allowed = deadline.since(since);
            let error = format!("Gadget '{name}' execution exceeded timeout of {allowed}ms");
            let duration = self.state.now.since(since);
            self.cancel_gadget(id);
            self.answer(id, Err(Arc::from(error.as_str())), duration, 0.0);
            self.state.scheduler.finish(id, Err(error));
        }
        self.dispatch();
    }

    /// Cancels what runs and answers what waits.
    pub(super) fn cancel_calls(&mut self) {
        const WORDS: &str = "Error: The run was cancelled before the call was done";
        self.state.scheduler.cancel_all();
        self.state.deadlines.clear();
        for at in 0..self.state.calls.len() {
            let id = CallId(self.state.first_call + index(at));
            let duration = match self.state.calls[at].status {
                Status::Answered(_) => continue,
                Status::Waiting => 0,
                Status::Running { since, .. } => {
                    self.cancel_gadget(id);
                    self.state.now.since(since)
                }
            };
            self.answer(id, Err(Arc::from(WORDS)), duration, 0.0);
        }
    }

    fn cancel_gadget(&mut self, id: CallId) {
        self.state.cancelled.insert(id);
        self.put(Output::Cancel(id));
    }

    /// The answer to a call, once.
    fn answer(
        &mut self,
        id: CallId,
        answer: Result<Arc<str>, Arc<str>>,
        duration_ms: u64,
        cost: f64,
    ) {
        let Some(record) = self.record(id) else {
            return;
        };
        record.status = Status::Answered(answer.clone());
        let invocation_id = record.call.invocation_id.clone();
        let gadget_name = record.call.gadget_name.clone();
        if let Ok(result) = &answer {
            self.state
                .results
                .insert(invocation_id.clone(), Arc::clone(result));
        }
        let answer = match answer {
            Ok(result) => Answer::Result(result.as_ref().to_owned()),
            Err(error) => Answer::Error(error.as_ref().to_owned()),
        };
        self.tell(EventKind::GadgetResult {
            invocation_id,
            gadget_name,
            answer,
            duration_ms,
            cost,
        });
    }

    fn record(&mut self, id: CallId) -> Option<&mut Record> {
        let at = id.0.checked_sub(self.state.first_call)?;
        self.state.calls.get_mut(at as usize)
    }

    /// Whether a gadget was started for this call, in this reply or an earlier one.
    pub(super) fn was_started(&self, id: CallId) -> bool {
        let Some(at) = id.0.checked_sub(self.state.first_call) else {
            return true;
        };
        let record = self.state.calls.get(at as usize);
        record.is_some_and(|record| !matches!(record.status, Status::Waiting))
    }
}

/// Calls are capped far below this.
pub(super) fn index(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
