//! A scheduler as plain as possible: a list of calls, and everything else worked out anew whenever it is asked.

use std::collections::VecDeque;

use gadgetry_proto::id::{CallId, InvocationId};
use gadgetry_proto::sched::{Action, Config, Job, SkipDecision, Unmet};

use super::naive_call::{Edge, Entry, State, To, why};

pub(crate) struct Naive {
    config: Config,
    reply: u32,
    /// All calls of the run, also those that were refused.
    pub(crate) calls: Vec<Entry>,
    said: VecDeque<Action>,
}

impl Naive {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            reply: 0,
            calls: Vec::new(),
            said: VecDeque::new(),
        }
    }

    pub(crate) fn begin_reply(&mut self) {
        self.end_reply();
        self.reply += 1;
    }

    pub(crate) fn add(&mut self, job: Job) {
        let id = job.id;
        if let Some(limit) = self.config.max_per_reply
            && self.calls_in_reply() >= limit as usize
        {
            self.said.push_back(Action::OverLimit(Unmet {
                id,
                failed_dependency: "maxGadgetsPerResponse".to_owned(),
                error: format!(
                    "Gadget limit ({limit}) exceeded. Consider calling fewer gadgets per response."
                ),
                told: format!(
                    "Skipped: Gadget limit ({limit}) exceeded. Consider calling fewer gadgets per response."
                ),
            }));
            self.push(job, State::Skipped);
        } else if self.is_taken(&job.invocation_id) {
            let error = format!(
                "Duplicate invocation ID \"{}\": an earlier call of this response already has it. Use a different ID for each call.",
                job.invocation_id
            );
            self.said.push_back(Action::Reject { id, error });
            self.push(job, State::Skipped);
        } else {
            self.push(job, State::Open);
        }
        self.propose();
    }

    pub(crate) fn add_failed(&mut self, job: Job, error: String) {
        self.push(job, State::Failed(error));
        self.propose();
    }

    pub(crate) fn finish(&mut self, id: CallId, result: Result<(), String>) {
        let call = self.find(id);
        assert!(self.calls[call].state == State::Running);
        self.calls[call].state = match result {
            Ok(()) => State::Done,
            Err(error) => State::Failed(error),
        };
        self.propose();
    }

    pub(crate) fn decide(&mut self, id: CallId, decision: SkipDecision) {
        let call = self.find(id);
        assert!(self.calls[call].is_undecided());
        match decision {
            SkipDecision::Skip => self.calls[call].state = State::Skipped,
            SkipDecision::Fallback => self.calls[call].state = State::Done,
            SkipDecision::Execute => self.calls[call].forced = true,
        }
        self.propose();
    }

    pub(crate) fn cancel_all(&mut self) -> Vec<CallId> {
        let mut cancelled = Vec::new();
        for call in &mut self.calls {
            if call.state == State::Open {
                call.state = State::Skipped;
                cancelled.push(call.job.id);
            }
        }
        self.said
            .retain(|action| !matches!(action, Action::Unmet(_)));
        cancelled
    }

    pub(crate) fn poll(&mut self) -> Option<Action> {
        if let Some(action) = self.said.pop_front() {
            return Some(action);
        }
        let running: Vec<&Job> = self
            .calls
            .iter()
            .filter(|call| call.state == State::Running)
            .map(|call| &call.job)
            .collect();
        let max = if self.config.sequential {
            Some(1)
        } else {
            self.config.max_concurrent
        };
        if running.iter().any(|job| job.exclusive)
            || max.is_some_and(|max| running.len() >= max as usize)
        {
            return None;
        }
        for index in 0..self.calls.len() {
            let call = &self.calls[index];
            if self.config.sequential && call.is_undecided() {
                return None;
            }
            if call.state != State::Open || call.is_undecided() || !self.is_ready(call) {
                continue;
            }
            if call.job.exclusive && !running.is_empty() {
                return None;
            }
            let siblings = running
                .iter()
                .filter(|job| job.gadget == call.job.gadget)
                .count();
            if call
                .job
                .max_concurrent
                .is_some_and(|max| siblings >= max as usize)
            {
                continue;
            }
            self.calls[index].state = State::Running;
            return Some(Action::Start(self.calls[index].job.id));
        }
        None
    }

    pub(crate) fn running(&self) -> Vec<CallId> {
        self.calls
            .iter()
            .filter(|call| call.state == State::Running)
            .map(|call| call.job.id)
            .collect()
    }

    pub(crate) fn waiting(&self) -> Vec<CallId> {
        self.calls
            .iter()
            .filter(|call| call.state == State::Open)
            .map(|call| call.job.id)
            .collect()
    }

    fn push(&mut self, job: Job, state: State) {
        let index = self.calls.len();
        let is_duplicate = self.is_taken(&job.invocation_id);
        let mut edges: Vec<Edge> = Vec::new();
        for name in &job.dependencies {
            if *name == job.invocation_id || edges.iter().any(|edge| edge.name == *name) {
                continue;
            }
            let to = match self.latest(name) {
                Some(call)
                    if self.calls[call].reply == self.reply
                        || why(&self.calls[call].state, name).is_none() =>
                {
                    To::Call(call)
                }
                _ => To::Later,
            };
            edges.push(Edge {
                name: name.clone(),
                to,
            });
        }
        if !is_duplicate {
            for edge in self.calls.iter_mut().flat_map(|call| &mut call.edges) {
                if edge.to == To::Later && edge.name == job.invocation_id {
                    edge.to = To::Call(index);
                }
            }
        }
        let reply = self.reply;
        self.calls.push(Entry {
            job,
            reply,
            state,
            is_duplicate,
            edges,
            forced: false,
            proposed: false,
        });
    }

    /// Proposes to skip whatever has a dependency that did not succeed.
    fn propose(&mut self) {
        for index in 0..self.calls.len() {
            let call = &self.calls[index];
            let own = call.job.invocation_id.to_string();
            if call.edges.is_empty() && !call.job.dependencies.is_empty() {
                let error = format!(
                    "Gadget \"{own}\" cannot depend on itself (self-referential dependency)"
                );
                self.propose_one(index, own, error);
                continue;
            }
            let failed = call.edges.iter().find_map(|edge| match edge.to {
                To::Call(to) => why(&self.calls[to].state, &edge.name)
                    .map(|error| (edge.name.to_string(), error)),
                To::Later | To::Nothing => None,
            });
            if let Some((dependency, error)) = failed {
                self.propose_one(index, dependency, error);
            }
        }
    }

    pub(crate) fn propose_one(&mut self, index: usize, failed_dependency: String, error: String) {
        let call = &mut self.calls[index];
        if call.state == State::Open && !call.proposed {
            call.proposed = true;
            let id = call.job.id;
            let own = error.starts_with("Gadget \"")
                || error.starts_with("Circular dependency")
                || error.starts_with("Dependencies unresolvable");
            let told = if own {
                format!("Skipped: {error}")
            } else if let Some(rest) = error.strip_prefix("Dependency ") {
                format!("Skipped: dependency {rest}")
            } else {
                format!("Skipped: dependency \"{failed_dependency}\" failed: {error}")
            };
            self.said.push_back(Action::Unmet(Unmet {
                id,
                failed_dependency,
                error,
                told,
            }));
        }
    }

    fn is_ready(&self, call: &Entry) -> bool {
        call.edges.iter().all(|edge| match edge.to {
            To::Call(to) => self.calls[to].is_settled(),
            To::Later => false,
            To::Nothing => true,
        })
    }

    pub(crate) fn latest(&self, name: &InvocationId) -> Option<usize> {
        self.calls
            .iter()
            .rposition(|call| call.job.invocation_id == *name && !call.is_duplicate)
    }

    fn is_taken(&self, name: &InvocationId) -> bool {
        self.calls
            .iter()
            .any(|call| call.reply == self.reply && call.job.invocation_id == *name)
    }

    fn calls_in_reply(&self) -> usize {
        self.calls
            .iter()
            .filter(|call| call.reply == self.reply)
            .count()
    }

    fn find(&self, id: CallId) -> usize {
        self.calls
            .iter()
            .position(|call| call.job.id == id)
            .unwrap()
    }
}
