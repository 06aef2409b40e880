//! The records of the current reply's calls, and their answers.

use std::mem;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{ApprovalAnswer, CallAnswer, EventKind};
use crate::id::{CallId, InvocationId};
use crate::media::Media;
use crate::run::calls::known::KnownResults;
use crate::run::calls::numbers::CallNumbers;
use crate::run::calls::record::{CallStatus, Names, Record};
use crate::run::outbox::Outbox;
use crate::sched::Unmet;

/// Numbers the calls of a run, and keeps the records of the current reply until the model reads their answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Ledger {
    numbers: CallNumbers,
    /// Records in the order in which the calls were complete.
    records: Vec<Record>,
    results: KnownResults,
    /// Calls in the previous reply.
    previous: Option<usize>,
}

/// The answer to a call.
pub(super) struct Answering {
    pub(super) answer: Result<String, String>,
    pub(super) media: Vec<Media>,
    pub(super) completes_run: bool,
    pub(super) duration_ms: u64,
    pub(super) cost: f64,
}

impl Answering {
    /// An answer and nothing else.
    pub(super) fn after(answer: Result<String, String>, duration_ms: u64, cost: f64) -> Self {
        Self {
            answer,
            media: Vec::new(),
            completes_run: false,
            duration_ms,
            cost,
        }
    }
}

impl Ledger {
    /// The number of a call whose header is complete.
    pub(super) fn announce(&mut self, id: &InvocationId) -> CallId {
        self.numbers.announce(id)
    }

    /// The number of the call that a piece belongs to.
    pub(super) fn of_piece(&mut self, id: &InvocationId) -> CallId {
        self.numbers.of_piece(id)
    }

    /// The number of a complete call, whose record is pushed next.
    pub(super) fn complete(&mut self, id: &InvocationId) -> CallId {
        self.numbers.complete(id, self.records.len())
    }

    /// The reply is over: calls that are not complete never will be.
    pub(super) fn end_reply(&mut self) {
        self.numbers.end_reply();
    }

    pub(super) fn push(&mut self, record: Record) {
        self.records.push(record);
    }

    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    pub(super) fn get(&self, id: CallId) -> Option<&Record> {
        self.records.get(self.numbers.slot(id)?)
    }

    pub(super) fn get_mut(&mut self, id: CallId) -> Option<&mut Record> {
        self.records.get_mut(self.numbers.slot(id)?)
    }

    /// A record, with the results that its call may refer to.
    pub(super) fn with_results(&mut self, id: CallId) -> Option<(&mut Record, &KnownResults)> {
        let record = self.records.get_mut(self.numbers.slot(id)?)?;
        Some((record, &self.results))
    }

    pub(super) fn results(&self) -> &KnownResults {
        &self.results
    }

    /// Calls in the previous reply; `None` before the first.
    pub(super) fn previous(&self) -> Option<usize> {
        self.previous
    }

    /// Takes all records. The numbers of later calls follow theirs.
    pub(super) fn take(&mut self) -> Vec<Record> {
        let records = mem::take(&mut self.records);
        self.previous = Some(records.len());
        self.numbers.next_reply();
        records
    }

    /// Withdraws the approval of a call, if one is open.
    pub(super) fn withdraw_approval(&mut self, id: CallId, out: &mut Outbox) {
        let record = self.get_mut(id);
        let event = record.and_then(|it| it.close_approval(ApprovalAnswer::Withdrawn));
        if let Some(event) = event {
            out.emit(event);
        }
    }

    /// Answers a call.
    pub(super) fn answer(&mut self, id: CallId, answering: Answering, out: &mut Outbox) {
        let Answering {
            answer,
            media,
            completes_run,
            duration_ms,
            cost,
        } = answering;
        self.withdraw_approval(id, out);
        let kept = match &answer {
            Ok(result) => Ok(Arc::from(result.as_str())),
            Err(error) => Err(Arc::from(error.as_str())),
        };
        let Some(names) = self.end(id, kept, media.clone(), None) else {
            return;
        };
        out.emit(EventKind::GadgetResult {
            call: id,
            invocation_id: names.invocation_id,
            gadget_name: names.gadget_name,
            answer: match answer {
                Ok(result) => CallAnswer::Result(result),
                Err(error) => CallAnswer::Error(error),
            },
            duration_ms,
            cost,
            media,
            completes_run,
        });
    }

    /// Answers a call that does not run because of a dependency or a limit.
    pub(super) fn skip(&mut self, unmet: Unmet, out: &mut Outbox) {
        let Unmet {
            id,
            failed_dependency,
            error,
            told,
        } = unmet;
        let kept = Err(Arc::from(error.as_str()));
        let Some(names) = self.end(id, kept, Vec::new(), Some(Arc::from(told))) else {
            return;
        };
        out.emit(EventKind::GadgetSkipped {
            call: id,
            invocation_id: names.invocation_id,
            gadget_name: names.gadget_name,
            failed_dependency,
            error,
        });
    }

    /// Keeps the answer of a call. Returns its names for the event.
    fn end(
        &mut self,
        id: CallId,
        answer: Result<Arc<str>, Arc<str>>,
        media: Vec<Media>,
        told: Option<Arc<str>>,
    ) -> Option<Names> {
        let record = self.records.get_mut(self.numbers.slot(id)?)?;
        let names = record.names();
        // An id means its latest call. So a call without a result removes the one that a call of an earlier reply left,
        // but never that of a call of its own reply, whose id it had no right to.
        if let Ok(text) = &answer {
            let invocation_id = names.invocation_id.clone();
            self.results.insert(invocation_id, id, Arc::clone(text));
        } else {
            let numbers = &self.numbers;
            let is_earlier = |of| numbers.is_earlier(of);
            self.results.remove_if(&names.invocation_id, is_earlier);
        }
        record.status = CallStatus::Answered {
            answer,
            media,
            told,
        };
        Some(names)
    }
}
