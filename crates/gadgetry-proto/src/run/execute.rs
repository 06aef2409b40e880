//! A gadget from the moment the scheduler has a place for it to the moment its outcome is known.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::call::Outcome;
use crate::convo::viewer;
use crate::event::{EventKind, FinishReason};
use crate::id::CallId;
use crate::run::Run;
use crate::run::answer::Answering;
use crate::run::io::Output;
use crate::run::question::QuestionKind;
use crate::run::state::{Late, Pending, Prepared, Status};

impl Run {
    /// The scheduler has a place for the call.
    pub(super) fn start(&mut self, id: CallId) {
        let mut prepared = match self.prepare(id) {
            Ok(Some(prepared)) => prepared,
            Ok(None) => return,
            Err(error) => return self.settle(id, Err(error)),
        };
        if self.has_viewer && prepared.start.gadget_name == viewer::NAME {
            let parameters = Arc::new(prepared.start.parameters);
            self.tell_start(id, Arc::clone(&parameters));
            let shown = self.view(&parameters);
            return self.settle(id, shown);
        }
        if let Err(error) = self.room_for_result() {
            return self.settle(id, Err(error));
        }
        if !self.spec.interceptors.is_empty()
            && let Err(error) = self.intercept(id, &mut prepared)
        {
            return self.settle(id, Err(error));
        }
        if self.spec.asks.before_gadget {
            if let Some(record) = self.record(id) {
                record.status = Status::Held;
            }
            let start = prepared.start.clone();
            self.ask_for(
                Pending::Start(Box::new(prepared)),
                QuestionKind::BeforeGadget { start },
            );
        } else {
            self.launch(prepared);
        }
    }

    fn intercept(&mut self, id: CallId, prepared: &mut Prepared) -> Result<(), String> {
        let Some(mut about) = self.about(id) else {
            return Ok(());
        };
        about.parameters = mem::take(&mut prepared.start.parameters);
        let mut parameters = about.parameters.clone();
        for interceptor in &self.spec.interceptors {
            parameters = interceptor.parameters(&about, parameters);
        }
        let changed = parameters != about.parameters;
        prepared.start.parameters = parameters;
        if changed {
            self.validate(prepared)
        } else {
            Ok(())
        }
    }

    /// The gadget starts.
    pub(super) fn launch(&mut self, prepared: Prepared) {
        let Prepared { start, timeout_ms } = prepared;
        let now = self.state.now;
        let id = start.id;
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
        // The gadget owns its parameters; everybody else shares these.
        self.tell_start(id, Arc::new(start.parameters.clone()));
        self.put(Output::Start(start));
    }

    /// Remembers the parameters that a call had in the end.
    pub(super) fn keep(&mut self, id: CallId, parameters: Arc<Value>) {
        if let Some(record) = self.record(id) {
            record.parameters = Some(parameters);
        }
    }

    fn tell_start(&mut self, id: CallId, parameters: Arc<Value>) {
        self.keep(id, Arc::clone(&parameters));
        let Some(record) = self.record(id) else {
            return;
        };
        let invocation_id = record.call.invocation_id.clone();
        let gadget_name = record.call.gadget_name.clone();
        self.tell(EventKind::GadgetStart {
            call: id,
            invocation_id,
            gadget_name,
            parameters,
        });
    }

    /// A gadget is done.
    pub(super) fn done(&mut self, id: CallId, outcome: Outcome) {
        let cost = self.charge(outcome.cost);
        let now = self.state.now;
        if let Some(late) = self.state.cancelled.remove(&id) {
            return self.done_late(id, late, cost);
        }
        let Some(record) = self.record(id) else {
            return;
        };
        let Status::Running { since, deadline } = record.status else {
            return;
        };
        record.status = Status::Ended {
            duration_ms: now.since(since),
            cost,
        };
        if let Some(deadline) = deadline {
            self.state.deadlines.remove(&(deadline, id));
        }
        let mut outcome = outcome;
        outcome.result = self.take_result(outcome.result);
        if outcome.asks_human.is_some() {
            self.ask_human(id, outcome);
        } else {
            self.weigh(id, outcome);
        }
    }

    /// Its call has been answered already. Now its place is free.
    fn done_late(&mut self, id: CallId, late: Late, cost: f64) {
        if cost > 0.0 {
            let Late {
                invocation_id,
                gadget_name,
            } = late;
            self.tell(EventKind::GadgetCost {
                call: id,
                invocation_id,
                gadget_name,
                cost,
            });
        }
        if let Some(Status::Answered {
            answer: Err(error), ..
        }) = self.record(id).map(|record| &record.status)
        {
            let error = error.as_ref().to_owned();
            self.state.scheduler.finish(id, Err(error));
            self.dispatch();
        }
    }

    /// What the gadget came to is known.
    pub(super) fn conclude(&mut self, id: CallId, outcome: Outcome) {
        let Some(Status::Ended { duration_ms, cost }) =
            self.record(id).map(|record| record.status.clone())
        else {
            return;
        };
        if outcome.completes_run {
            let result = outcome.result.clone();
            self.state.completed = Some(result.unwrap_or_else(|error| error));
        }
        if outcome.result.is_err() {
            self.failed();
        }
        let finished = outcome.result.as_ref().map(|_| ()).map_err(Clone::clone);
        let answer = Answering {
            answer: outcome.result.map(Arc::from).map_err(Arc::from),
            media: outcome.media,
            completes_run: outcome.completes_run,
            duration_ms,
            cost,
        };
        self.answer_with(id, answer);
        self.state.scheduler.finish(id, finished);
        self.dispatch();
    }

    /// A gadget that ran has failed.
    pub(super) fn failed(&mut self) {
        if self.spec.stop_on_gadget_error {
            self.state.stopped.get_or_insert(FinishReason::GadgetError);
        }
    }
}
