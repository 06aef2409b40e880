//! A call of the naive scheduler.

use gadgetry_proto::id::InvocationId;
use gadgetry_proto::sched::Job;

pub(crate) struct Entry {
    pub(crate) job: Job,
    pub(crate) reply: u32,
    pub(crate) state: State,
    /// Refused because its id was taken.
    pub(crate) is_duplicate: bool,
    pub(crate) edges: Vec<Edge>,
    pub(crate) forced: bool,
    pub(crate) proposed: bool,
}

#[derive(Clone, PartialEq)]
pub(crate) enum State {
    Open,
    Running,
    Done,
    Failed(String),
    Skipped,
}

/// A dependency: on a call, on one that may come, or on nothing any more.
pub(crate) struct Edge {
    pub(crate) name: InvocationId,
    pub(crate) to: To,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum To {
    Call(usize),
    Later,
    Nothing,
}

impl Entry {
    pub(crate) fn is_undecided(&self) -> bool {
        self.state == State::Open && self.proposed && !self.forced
    }

    pub(crate) fn is_settled(&self) -> bool {
        !matches!(self.state, State::Open | State::Running)
    }
}

pub(crate) fn why(state: &State, name: &InvocationId) -> Option<String> {
    match state {
        State::Open | State::Running | State::Done => None,
        State::Failed(error) => Some(error.clone()),
        State::Skipped => Some(format!("Dependency \"{name}\" was skipped")),
    }
}
