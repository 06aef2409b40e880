//! In virtual time: no call starts later than it must, and large replies are no trouble.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use gadgetry_proto::id::CallId;
use gadgetry_proto::sched::{Action, Config, Job, Scheduler, SkipDecision};

/// One gadget of a simulated reply.
struct Task {
    arrives: u64,
    takes: u64,
    /// Indices of tasks, earlier and later ones.
    after: Vec<usize>,
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
fn reply(seed: u64, size: usize) -> Vec<Task> {
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
fn earliest_ends(tasks: &[Task]) -> Vec<u64> {
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
fn simulate(tasks: &[Task], config: Config) -> (Vec<u64>, usize) {
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

fn job(tasks: &[Task], index: usize) -> Job {
    let id = CallId(u32::try_from(index).unwrap());
    let dependencies = tasks[index].after.iter().map(|before| format!("t{before}"));
    Job::new(id, format!("t{index}"), "Task").after(dependencies)
}

#[test]
fn without_limits_every_call_ends_as_early_as_it_can() {
    for seed in 0..200 {
        let tasks = reply(seed, 200);
        let (ends, _) = simulate(&tasks, Config::default());
        assert_eq!(ends, earliest_ends(&tasks), "seed {seed}");
    }
}

/// Graham's bound: whatever the order, work / limit + critical path is enough if no slot is left empty.
#[test]
fn with_a_limit_no_slot_is_left_empty() {
    for seed in 0..50 {
        let mut tasks = reply(seed, 200);
        for task in &mut tasks {
            task.arrives = 0;
        }
        let path = earliest_ends(&tasks).into_iter().max().unwrap();
        let work: u64 = tasks.iter().map(|task| task.takes).sum();
        for limit in [1, 2, 7] {
            let config = Config {
                max_concurrent: Some(limit),
                ..Config::default()
            };
            let (ends, most) = simulate(&tasks, config);
            assert!(most <= limit as usize);
            assert!(
                ends.into_iter().max().unwrap() <= work / u64::from(limit) + path,
                "seed {seed}"
            );
        }
    }
}

#[test]
fn large_replies() {
    let chain = |size: usize| {
        (0..size)
            .map(|task| task.checked_sub(1).into_iter().collect())
            .collect()
    };
    let backwards = |size: usize| {
        (1..=size)
            .map(|task| if task < size { vec![task] } else { vec![] })
            .collect()
    };
    let fan = |size: usize| {
        (0..size)
            .map(|task| {
                if task == 0 {
                    (1..size).collect()
                } else {
                    vec![]
                }
            })
            .collect()
    };
    let dense = |size: usize| {
        (0..size)
            .map(|task: usize| (task.saturating_sub(10)..task).collect())
            .collect()
    };
    let shapes: [(&str, Vec<Vec<usize>>); 5] = [
        ("a chain of 800", chain(800)),
        ("a chain of 10,000, last call first", backwards(10_000)),
        ("1,000 at once", vec![Vec::new(); 1_000]),
        ("one that waits for 9,999 later ones", fan(10_000)),
        ("10,000 with 10 dependencies each", dense(10_000)),
    ];
    for (shape, edges) in shapes {
        let tasks: Vec<Task> = edges
            .into_iter()
            .map(|after| Task {
                arrives: 0,
                takes: 1,
                after,
            })
            .collect();
        for max_concurrent in [None, Some(4)] {
            let (ends, _) = simulate(
                &tasks,
                Config {
                    max_concurrent,
                    ..Config::default()
                },
            );
            assert!(ends.into_iter().all(|end| end > 0), "{shape}");
        }
    }
}

#[test]
fn of_a_finished_call_only_its_id_is_kept() {
    let mut scheduler = Scheduler::new(Config::default());
    let mut sizes = Vec::new();
    for reply in 0..1_000 {
        scheduler.begin_reply();
        for call in [2 * reply, 2 * reply + 1] {
            let job = Job::new(CallId(call), format!("t{}", call % 2), "Task");
            let before = if call % 2 == 1 {
                vec!["t0", "t1"]
            } else {
                vec!["t1"]
            };
            scheduler.add(job.after(before));
        }
        scheduler.end_reply();
        while let Some(action) = scheduler.poll() {
            match action {
                Action::Start(id) => drop(scheduler.finish(id, Ok(()))),
                Action::Unmet(unmet) => drop(scheduler.decide(unmet.id, SkipDecision::Fallback)),
                Action::Reject { .. } | Action::OverLimit(_) => panic!("{action:?}"),
            }
        }
        sizes.push(serde_json::to_string(&scheduler).unwrap().len());
    }
    assert!(
        sizes[999] <= sizes[9] + 16,
        "{} then {}",
        sizes[9],
        sizes[999]
    );
}
