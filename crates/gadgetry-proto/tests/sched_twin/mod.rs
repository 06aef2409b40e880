//! The scheduler does what a naive one does, on random runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod naive;
mod naive_call;
mod naive_end;

use gadgetry_proto::id::CallId;
use gadgetry_proto::sched::{Action, Config, Job, Scheduler, SkipDecision};
use proptest::prelude::*;

use naive::Naive;

/// What happens next. Numbers choose among what there is at that moment.
#[derive(Clone, Debug)]
enum Step {
    Begin,
    Add {
        name: u8,
        gadget: u8,
        dependencies: Vec<u8>,
        exclusive: bool,
    },
    AddFailed {
        name: u8,
    },
    End,
    Finish {
        which: usize,
        fails: bool,
    },
    Decide {
        which: usize,
        decision: SkipDecision,
    },
    Reload,
    Cancel,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let decision = prop_oneof![
        3 => Just(SkipDecision::Skip),
        2 => Just(SkipDecision::Execute),
        1 => Just(SkipDecision::Fallback),
    ];
    let add = (
        0..12_u8,
        0..4_u8,
        prop::collection::vec(0..13_u8, 0..4),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(name, gadget, dependencies, exclusive)| Step::Add {
            name,
            gadget,
            dependencies,
            exclusive,
        });
    let step = prop_oneof![
        12 => add,
        1 => (0..12_u8).prop_map(|name| Step::AddFailed { name }),
        2 => Just(Step::Begin),
        1 => Just(Step::End),
        8 => (any::<usize>(), prop::bool::weighted(0.25)).prop_map(|(which, fails)| Step::Finish { which, fails }),
        4 => (any::<usize>(), decision).prop_map(|(which, decision)| Step::Decide { which, decision }),
        2 => Just(Step::Reload),
    ];
    let step = prop_oneof![60 => step, 1 => Just(Step::Cancel)];
    prop::collection::vec(step, 0..80)
}

fn config() -> impl Strategy<Value = Config> {
    (
        prop::option::weighted(0.3, 1..4_u32),
        prop::bool::weighted(0.2),
        prop::option::weighted(0.3, 1..8_u32),
    )
        .prop_map(|(max_concurrent, sequential, max_per_reply)| Config {
            max_concurrent,
            sequential,
            max_per_reply,
        })
}

/// Gadget 0 has no limit, the others have their number.
fn limit(gadget: u8) -> Option<u32> {
    (gadget > 0).then(|| u32::from(gadget))
}

struct Pair {
    real: Scheduler,
    naive: Naive,
    next: u32,
    undecided: Vec<CallId>,
    running: Vec<CallId>,
    /// Every call and how often it was answered for good.
    answers: Vec<u32>,
}

impl Pair {
    fn step(&mut self, step: Step) {
        match step {
            Step::Begin => {
                self.real.begin_reply();
                self.naive.begin_reply();
            }
            Step::Add {
                name,
                gadget,
                dependencies,
                exclusive,
            } => {
                let mut job = self
                    .job(name)
                    .after(dependencies.iter().map(|name| format!("n{name}")));
                job.gadget = format!("G{gadget}");
                job.max_concurrent = limit(gadget);
                job.exclusive = exclusive;
                self.real.add(job.clone());
                self.naive.add(job);
            }
            Step::AddFailed { name } => {
                let job = self.job(name);
                self.answers[job.id.0 as usize] += 1;
                let error = format!("{} failed early", job.id);
                self.real
                    .add_failed(job.invocation_id.clone(), error.clone());
                self.naive.add_failed(job, error);
            }
            Step::End => {
                self.real.end_reply();
                self.naive.end_reply();
            }
            Step::Finish { which, fails } => self.finish(which, fails),
            Step::Decide { which, decision } => self.decide(which, decision),
            Step::Reload => {
                let saved = serde_json::to_value(&self.real).unwrap();
                self.real = serde_json::from_value(saved).unwrap();
            }
            Step::Cancel => {
                let cancelled = self.naive.cancel_all();
                assert_eq!(self.real.cancel_all(), cancelled);
                for id in cancelled {
                    self.answers[id.0 as usize] += 1;
                }
                self.undecided.clear();
            }
        }
        self.drain();
    }

    fn job(&mut self, name: u8) -> Job {
        let id = CallId(self.next);
        self.next += 1;
        self.answers.push(0);
        Job::new(id, format!("n{name}"), "G")
    }

    fn finish(&mut self, which: usize, fails: bool) {
        if self.running.is_empty() {
            return;
        }
        let id = self.running.remove(which % self.running.len());
        self.answers[id.0 as usize] += 1;
        let result = if fails {
            Err(format!("{id} failed"))
        } else {
            Ok(())
        };
        assert!(self.real.finish(id, result.clone()));
        assert!(!self.real.finish(id, Ok(())));
        self.naive.finish(id, result);
    }

    fn decide(&mut self, which: usize, decision: SkipDecision) {
        if self.undecided.is_empty() {
            return;
        }
        let id = self.undecided.remove(which % self.undecided.len());
        self.answers[id.0 as usize] += u32::from(decision != SkipDecision::Execute);
        assert!(self.real.decide(id, decision));
        assert!(!self.real.decide(id, decision));
        self.naive.decide(id, decision);
    }

    fn drain(&mut self) {
        loop {
            let action = self.naive.poll();
            assert_eq!(self.real.poll(), action);
            match action {
                None => break,
                Some(Action::Start(id)) => self.running.push(id),
                Some(Action::Unmet(unmet)) => self.undecided.push(unmet.id),
                Some(Action::Reject { id, .. }) => self.answers[id.0 as usize] += 1,
                Some(Action::OverLimit(unmet)) => self.answers[unmet.id.0 as usize] += 1,
            }
        }
        assert_eq!(
            self.real.running().collect::<Vec<_>>(),
            self.naive.running()
        );
        assert_eq!(
            self.real.waiting().collect::<Vec<_>>(),
            self.naive.waiting()
        );
        assert_eq!(
            self.real.is_idle(),
            self.naive.running().is_empty() && self.naive.waiting().is_empty()
        );
    }
}

/// `PROPTEST_CASES` scales it.
fn many() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig {
        cases: usual.cases * 8,
        failure_persistence: None,
        ..usual
    }
}

proptest! {
    #![proptest_config(many())]

    #[test]
    fn does_what_a_naive_scheduler_does(config in config(), steps in steps()) {
        let mut pair = Pair {
            real: Scheduler::new(config.clone()),
            naive: Naive::new(config),
            next: 0,
            undecided: Vec::new(),
            running: Vec::new(),
            answers: Vec::new(),
        };
        for step in steps {
            pair.step(step);
        }
        // No run hangs, and every call is answered once.
        pair.step(Step::End);
        while !pair.real.is_idle() {
            prop_assert!(!pair.running.is_empty() || !pair.undecided.is_empty());
            pair.step(Step::Finish { which: 0, fails: false });
            pair.step(Step::Decide { which: 0, decision: SkipDecision::Execute });
        }
        prop_assert!(pair.answers.iter().all(|answers| *answers == 1));
    }
}
