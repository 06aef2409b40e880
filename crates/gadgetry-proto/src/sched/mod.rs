//! Decides which call may start, from calls and results alone: time plays no part.
//!
//! A [`Scheduler`] receives what happens (a call was read, a call is done) and is then polled, until it has nothing more to
//! say, what follows from it. A call starts the moment its own dependencies are done and the limits have room for it,
//! while the reply may still be arriving.
//!
//! ```
//! use gadgetry_proto::id::CallId;
//! use gadgetry_proto::sched::{Action, Config, Job, Scheduler};
//!
//! let mut scheduler = Scheduler::new(Config::default());
//! scheduler.begin_reply();
//! scheduler.add(Job::new(CallId(0), "merge", "Merge").after(["users"]));
//! assert_eq!(scheduler.poll(), None); // `users` may still come
//!
//! scheduler.add(Job::new(CallId(1), "users", "Fetch"));
//! assert_eq!(scheduler.poll(), Some(Action::Start(CallId(1))));
//! scheduler.finish(CallId(1), Ok(()));
//! assert_eq!(scheduler.poll(), Some(Action::Start(CallId(0))));
//! ```
//!
//! # What a dependency means
//!
//! An id that an earlier call of the same reply has, means that call. Otherwise it means the latest call of an earlier
//! reply, if that one succeeded or is not done yet. Otherwise it waits for a call that the rest of the reply may bring;
//! [`Scheduler::end_reply`] decides what did not come. So a call may name a later one, and also one that failed before
//! and is about to be tried again.
//!
//! # What goes wrong
//!
//! A dependency that failed, was skipped, does not exist or leads back to the call itself does not skip the call at
//! once: [`Action::Unmet`] proposes it, and [`Scheduler::decide`] answers. There is at most one proposal for a call. A
//! call that merely depends on a member of a cycle is not circular itself; its dependency is.
//!
//! # Cost
//!
//! All steps of a run together cost `O((calls + dependencies) · log calls)`. Of a call that is done, the scheduler
//! keeps its id and, if it failed, its error text, because any later call may name it.

mod cause;
mod fate;
mod gate;
mod graph;
mod job;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::id::InvocationId;
use crate::sched::cause::Cause;
pub(crate) use crate::sched::cause::over_limit;
use crate::sched::fate::Fate;
use crate::sched::gate::Gate;
use crate::sched::graph::Change;
use crate::sched::graph::Graph;

pub use crate::sched::job::Action;
pub use crate::sched::job::Config;
pub use crate::sched::job::Job;
pub use crate::sched::job::SkipDecision;
pub use crate::sched::job::Unmet;

/// Says which call may start. It is plain data: saved and loaded at any moment, it continues as if nothing had been.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Scheduler {
    config: Config,
    graph: Graph,
    gate: Gate,
    /// Notices that precede all starts, in order.
    notices: VecDeque<Notice>,
    calls_in_reply: u32,
}

#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
enum Notice {
    Unmet(CallId, Cause),
    Duplicate(CallId, InvocationId),
    OverLimit(CallId),
}

impl Scheduler {
    /// A scheduler for one run.
    pub fn new(config: Config) -> Self {
        let max = if config.sequential {
            Some(1)
        } else {
            config.max_concurrent
        };
        Self {
            config,
            graph: Graph::default(),
            gate: Gate::new(max),
            notices: VecDeque::new(),
            calls_in_reply: 0,
        }
    }

    /// A new reply begins: ids may be used again, and the limit per reply counts from 0. Calls of earlier replies continue.
    pub fn begin_reply(&mut self) {
        self.end_reply();
        self.graph.begin_reply();
        self.calls_in_reply = 0;
    }

    /// A call was read. Calls are added in the order of their [`CallId`]s.
    pub fn add(&mut self, job: Job) {
        if self.counts_as_over_limit() {
            self.notices.push_back(Notice::OverLimit(job.id));
            let changes = self.graph.add_settled(job.invocation_id, Fate::Skipped);
            self.apply(changes);
        } else if self.graph.is_taken(&job.invocation_id) {
            self.notices
                .push_back(Notice::Duplicate(job.id, job.invocation_id));
        } else {
            let seat = self.gate.seat(&job);
            let change = self
                .graph
                .add(job.id, job.invocation_id, job.dependencies, seat);
            self.apply(change);
        }
    }

    /// A call was read that will never run: malformed, denied, or of an unknown gadget. The caller has answered it;
    /// calls that depend on it fail with `error`. It counts for the limit per reply; if its id is taken in this reply,
    /// the id keeps its meaning.
    pub fn add_failed(&mut self, invocation_id: InvocationId, error: String) {
        self.counts_as_over_limit();
        let changes = self.graph.add_settled(invocation_id, Fate::failed(error));
        self.apply(changes);
    }

    /// The reply has no more calls: dependencies that did not come and cycles are decided now.
    pub fn end_reply(&mut self) {
        let changes = self.graph.end_reply();
        self.apply(changes);
    }

    /// A started call is done; an error is the text that the model reads. Returns whether the call was running;
    /// otherwise nothing happens.
    pub fn finish(&mut self, id: CallId, result: Result<(), String>) -> bool {
        let was_running = self.gate.finish(id);
        if was_running {
            let fate = match result {
                Ok(()) => Fate::Done,
                Err(error) => Fate::failed(error),
            };
            let changes = self.graph.finish(id, &fate);
            self.apply(changes);
        }
        was_running
    }

    /// The answer to [`Action::Unmet`]. Returns whether one was due; otherwise nothing happens.
    pub fn decide(&mut self, id: CallId, decision: SkipDecision) -> bool {
        if !self.graph.take_undecided(id) {
            return false;
        }
        let fate = match decision {
            SkipDecision::Skip => Fate::Skipped,
            SkipDecision::Fallback => Fate::Done,
            SkipDecision::Execute => {
                let change = self.graph.force(id);
                self.apply(change);
                return true;
            }
        };
        let changes = self.graph.finish(id, &fate);
        self.apply(changes);
        true
    }

    /// Forgets every call that has not started, and returns them in call order: the caller answers them. Running calls
    /// stay until [`Scheduler::finish`]. Calls that were refused are still to be polled.
    pub fn cancel_all(&mut self) -> Vec<CallId> {
        let cancelled: Vec<CallId> = self.waiting().collect();
        self.gate.clear_ready();
        self.graph.forget(&cancelled);
        self.notices
            .retain(|notice| !matches!(notice, Notice::Unmet(..)));
        cancelled
    }

    /// The next thing to do. Call it until it returns `None`, after every change.
    pub fn poll(&mut self) -> Option<Action> {
        while let Some(notice) = self.notices.pop_front() {
            if let Some(action) = self.announce(notice) {
                return Some(action);
            }
        }
        let hold = if self.config.sequential {
            self.graph.first_undecided()
        } else {
            None
        };
        self.gate.start_next(hold).map(Action::Start)
    }

    /// Returns `true` if no call waits, runs, or is still to be polled.
    pub fn is_idle(&self) -> bool {
        self.graph.is_empty() && self.notices.is_empty()
    }

    /// The calls that have started and are not finished, in call order.
    pub fn running(&self) -> impl Iterator<Item = CallId> + '_ {
        self.gate.running()
    }

    /// The calls that have neither started nor been decided, in call order.
    pub fn waiting(&self) -> impl Iterator<Item = CallId> + '_ {
        self.graph.calls().filter(|id| !self.gate.is_running(*id))
    }

    /// Counts one more call of this reply.
    fn counts_as_over_limit(&mut self) -> bool {
        self.calls_in_reply = self.calls_in_reply.saturating_add(1);
        job::cap(self.config.max_per_reply).is_some_and(|limit| self.calls_in_reply > limit)
    }

    fn apply(&mut self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            match change {
                Change::Ready(id, seat) => self.gate.enter(id, seat),
                Change::Unmet(id, cause) => self.notices.push_back(Notice::Unmet(id, cause)),
            }
        }
    }

    /// The text of a notice; `None` if it was decided before the notice.
    fn announce(&self, notice: Notice) -> Option<Action> {
        match notice {
            Notice::Unmet(id, cause) => {
                let invocation_id = self.graph.undecided(id)?;
                Some(Action::Unmet(cause.explain(id, invocation_id)))
            }
            Notice::Duplicate(id, invocation_id) => Some(Action::Reject {
                id,
                error: cause::duplicate(&invocation_id),
            }),
            Notice::OverLimit(id) => {
                let limit = self.config.max_per_reply.unwrap_or_default();
                Some(Action::OverLimit(cause::over_limit(id, limit)))
            }
        }
    }
}
