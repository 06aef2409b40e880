//! Calls are answered: with a result, an error, a skip, too late, or because the run is over. Each exactly once.

use std::sync::Arc;

use crate::event::{Answer, EventKind};
use crate::id::{CallId, InvocationId};
use crate::media::Media;
use crate::run::Run;
use crate::run::io::Output;
use crate::run::state::{Known, Late, Record, Status};
use crate::sched::Unmet;

/// The answer to a call that a cancelled run leaves behind.
pub(super) const CANCELLED: &str = "Error: The run was cancelled before the call was done";

/// How a call is answered.
pub(super) struct Answering {
    pub(super) answer: Result<Arc<str>, Arc<str>>,
    pub(super) media: Vec<Media>,
    pub(super) completes_run: bool,
    pub(super) duration_ms: u64,
    pub(super) cost: f64,
}

impl Run {
    /// Answers every running call whose time is over. For the scheduler it runs until its gadget has come to an end:
    /// what must not run beside it still must not.
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
            self.failed();
            self.answer(id, Err(Arc::from(error.as_str())), duration, 0.0);
        }
    }

    /// Cancels what runs and answers what waits.
    pub(super) fn cancel_calls(&mut self) {
        self.state.scheduler.cancel_all();
        self.state.deadlines.clear();
        self.state.questions.clear();
        self.state.blocked = None;
        for at in 0..self.state.calls.len() {
            let id = self.state.calls[at].id;
            let (duration, cost) = match self.state.calls[at].status {
                Status::Answered { .. } => continue,
                Status::Waiting | Status::Held => (0, 0.0),
                Status::Running { since, .. } => {
                    self.cancel_gadget(id);
                    (self.state.now.since(since), 0.0)
                }
                Status::Ended { duration_ms, cost } => (duration_ms, cost),
            };
            self.answer(id, Err(Arc::from(CANCELLED)), duration, cost);
        }
    }

    /// Cancels a running gadget.
    fn cancel_gadget(&mut self, id: CallId) {
        let Some(record) = self.record(id) else {
            return;
        };
        let late = Late {
            invocation_id: record.call.invocation_id.clone(),
            gadget_name: record.call.gadget_name.clone(),
        };
        self.state.cancelled.insert(id, late);
        self.put(Output::Cancel(id));
    }

    /// The call does not run because of a dependency or a limit.
    pub(super) fn skip(&mut self, unmet: Unmet) {
        let Unmet {
            id,
            failed_dependency,
            error,
            told,
        } = unmet;
        let Some(record) = self.record(id) else {
            return;
        };
        record.told = Some(Arc::from(told));
        record.status = Status::Answered {
            answer: Err(Arc::from(error.as_str())),
            media: Vec::new(),
        };
        let gadget_name = record.call.gadget_name.clone();
        let invocation_id = record.call.invocation_id.clone();
        self.remember(id, &invocation_id, None);
        self.tell(EventKind::GadgetSkipped {
            call: id,
            invocation_id,
            gadget_name,
            failed_dependency,
            error,
        });
    }

    /// The answer to a call, once, with nothing beside it.
    pub(super) fn answer(
        &mut self,
        id: CallId,
        answer: Result<Arc<str>, Arc<str>>,
        duration_ms: u64,
        cost: f64,
    ) {
        let answering = Answering {
            answer,
            media: Vec::new(),
            completes_run: false,
            duration_ms,
            cost,
        };
        self.answer_with(id, answering);
    }

    /// The answer to a call, once.
    pub(super) fn answer_with(&mut self, id: CallId, answering: Answering) {
        let Answering {
            answer,
            media,
            completes_run,
            duration_ms,
            cost,
        } = answering;
        let Some(record) = self.record(id) else {
            return;
        };
        record.status = Status::Answered {
            answer: answer.clone(),
            media: media.clone(),
        };
        let invocation_id = record.call.invocation_id.clone();
        let gadget_name = record.call.gadget_name.clone();
        self.remember(id, &invocation_id, answer.as_ref().ok());
        let answer = match answer {
            Ok(result) => Answer::Result(result.as_ref().to_owned()),
            Err(error) => Answer::Error(error.as_ref().to_owned()),
        };
        self.tell(EventKind::GadgetResult {
            call: id,
            invocation_id,
            gadget_name,
            answer,
            duration_ms,
            cost,
            media,
            completes_run,
        });
    }

    /// An id means its latest call: a call without a result takes the one of an earlier reply away, but never that of
    /// a call of its own reply, whose id it had no right to.
    fn remember(&mut self, call: CallId, id: &InvocationId, result: Option<&Arc<str>>) {
        let results = &mut self.state.results;
        if let Some(text) = result {
            let text = Arc::clone(text);
            results.insert(id.clone(), Known { call, text });
        } else if results
            .get(id)
            .is_some_and(|known| self.state.numbers.is_earlier(known.call))
        {
            results.remove(id);
        }
    }

    pub(super) fn record(&mut self, id: CallId) -> Option<&mut Record> {
        let slot = self.state.numbers.slot(id)?;
        self.state.calls.get_mut(slot)
    }
}
