//! The queue of outputs, with the run's clock and the numbers of its events.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{Event, EventKind, RunInfo};
use crate::id::CallId;
use crate::message::Request;
use crate::run::io::Output;
use crate::run::question::Question;
use crate::run::start::Start;
use crate::time::Time;

/// Outputs that the driver has not polled yet, oldest first.
///
/// All parts of a run write into this one queue, so the order of outputs is the order in which things happened, whatever
/// part they came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Outbox {
    now: Time,
    /// The id of the run, if it has an identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<Arc<str>>,
    /// Whether the run is a single call: the reply that makes it has no events.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_single_call: bool,
    /// The number of the next event.
    next_seq: u64,
    queue: VecDeque<Output>,
}

impl Outbox {
    /// The time of the current input.
    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Moves the clock. It never goes back.
    pub(super) fn advance_to(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// Emits the first event of a run that has an identity.
    pub(super) fn begin(&mut self, info: &Arc<RunInfo>) {
        self.run = Some(Arc::clone(&info.id));
        self.is_single_call = info.single_call;
        self.emit(EventKind::RunStart(Arc::clone(info)));
    }

    /// Emits an event of the run itself.
    pub(super) fn emit(&mut self, kind: EventKind) {
        let is_of_model = matches!(
            kind,
            EventKind::ModelCallStart { .. }
                | EventKind::ModelCallEnd { .. }
                | EventKind::Diagnostic(_)
                | EventKind::IterationEnd { .. }
        );
        if is_of_model && self.is_single_call {
            return;
        }
        let mut event = Event::new(0, Time::default(), kind);
        event.run.clone_from(&self.run);
        self.forward(event);
    }

    /// Emits an event, a subagent's perhaps, with this run's number and time.
    pub(super) fn forward(&mut self, mut event: Event) {
        event.seq = self.next_seq;
        event.time = self.now;
        self.next_seq += 1;
        self.queue.push_back(Output::Event(event));
    }

    pub(super) fn send(&mut self, request: Request) {
        self.queue.push_back(Output::Send(request));
    }

    pub(super) fn close_model(&mut self) {
        self.queue.push_back(Output::CloseModel);
    }

    pub(super) fn start(&mut self, start: Start) {
        self.queue.push_back(Output::Start(start));
    }

    pub(super) fn cancel(&mut self, id: CallId) {
        self.queue.push_back(Output::Cancel(id));
    }

    pub(super) fn ask(&mut self, question: Question) {
        self.queue.push_back(Output::Ask(question));
    }

    /// Takes the oldest output.
    pub(super) fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }

    /// Returns `true` if an output like this has not been polled yet.
    pub(super) fn holds(&self, is_meant: impl Fn(&Output) -> bool) -> bool {
        self.queue.iter().any(is_meant)
    }
}
