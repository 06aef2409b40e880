//! Replies in virtual time, what the scheduler makes of them, and the earliest that anything could. A bench shares it.
#![allow(
    clippy::unwrap_used,
    unreachable_pub,
    reason = "a test fails by panicking, and shares its modules"
)]

use std::collections::BTreeSet;

use gadgetry_proto::id::CallId;
use gadgetry_proto::sched::{Action, Config, Job, Scheduler};

/// One gadget of a simulated reply.
pub struct Task {
    pub arrives: u64,
    pub takes: u64,
    /// Indices of tasks, earlier and later ones.
    pub after: Vec<usize>,
}

/// Pseudo-random numbers (`SplitMix64`), the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((bits ^ (bits >> 31)) % end as u64).unwrap()
    }
}

/// A random DAG. Its hidden order is not the order in which the calls are written, so there are forward references.
pub fn reply(seed: u64, size: usize) -> Vec<Task> {
    let mut dice = Dice(seed);
    let mut order: Vec<usize> = (0..size).collect();
    for index in (1..size).rev() {
        order.swap(index, dice.below(index + 1));
    }
    let pace = dice.below(20);
    let mut arrives = 0;
    let mut tasks: Vec<Task> = (0..size)
        .map(|_| {
            arrives += dice.below(pace + 1) as u64;
            let takes = 1 + dice.below(1_000) as u64;
            Task {
                arrives,
                takes,
                after: Vec::new(),
            }
        })
        .collect();
    for place in 1..size {
        let chosen: BTreeSet<usize> = (0..dice.below(4))
            .map(|_| order[dice.below(place)])
            .collect();
        tasks[order[place]].after = chosen.into_iter().collect();
    }
    tasks
}

/// When every task ends if each starts as soon as it has arrived and its dependencies have ended.
pub fn earliest_ends(tasks: &[Task]) -> Vec<u64> {
    fn end(tasks: &[Task], task: usize, ends: &mut [Option<u64>]) -> u64 {
        if let Some(end) = ends[task] {
            return end;
        }
        let ready = tasks[task]
            .after
            .iter()
            .map(|before| end(tasks, *before, ends))
            .max();
        let end = tasks[task].arrives.max(ready.unwrap_or(0)) + tasks[task].takes;
        ends[task] = Some(end);
        end
    }
    let mut ends = vec![None; tasks.len()];
    (0..tasks.len())
        .map(|task| end(tasks, task, &mut ends))
        .collect()
}

/// When every task ends under the scheduler, and the most that ran at one time.
pub fn simulate(tasks: &[Task], config: Config) -> (Vec<u64>, usize) {
    let mut scheduler = Scheduler::new(config);
    scheduler.begin_reply();
    let mut ends = vec![0; tasks.len()];
    let mut running: BTreeSet<(u64, usize)> = BTreeSet::new();
    let mut arrived = 0;
    let mut most = 0;
    loop {
        let arrival = tasks.get(arrived).map(|task| task.arrives);
        let done = running.first().map(|(time, _)| *time);
        let Some(now) = arrival.into_iter().chain(done).min() else {
            break;
        };
        if done == Some(now) {
            let (_, task) = running.pop_first().unwrap();
            ends[task] = now;
            scheduler.finish(CallId(u32::try_from(task).unwrap()), Ok(()));
        } else {
            scheduler.add(job(tasks, arrived));
            arrived += 1;
            if arrived == tasks.len() {
                scheduler.end_reply();
            }
        }
        while let Some(action) = scheduler.poll() {
            let Action::Start(id) = action else {
                panic!("{action:?}")
            };
            running.insert((now + tasks[id.0 as usize].takes, id.0 as usize));
        }
        most = most.max(running.len());
    }
    assert!(scheduler.is_idle());
    (ends, most)
}

pub fn job(tasks: &[Task], index: usize) -> Job {
    let id = CallId(u32::try_from(index).unwrap());
    let dependencies = tasks[index].after.iter().map(|before| format!("t{before}"));
    Job::new(id, format!("t{index}"), "Task").after(dependencies)
}
