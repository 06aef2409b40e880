//! In virtual time: no call starts later than it must, and large replies are no trouble.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::support::virtual_time::{Task, earliest_ends, reply, simulate};
use gadgetry_proto::id::CallId;
use gadgetry_proto::sched::{Action, Config, Job, Scheduler, SkipDecision};

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
