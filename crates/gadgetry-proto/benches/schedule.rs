//! What the scheduler costs, and how much later than it must a reply is done.
//!
//! `docs/performance.md` says what each number must be.

#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(clippy::cast_precision_loss, reason = "numbers are far below 2^52")]

mod support;
#[path = "../tests/support/virtual_time.rs"]
mod virtual_time;

use std::collections::VecDeque;
use std::hint::black_box;

use gadgetry_proto::id::CallId;
use gadgetry_proto::sched::{Action, Config, Job, Scheduler};
use support::clock::seconds;
use support::verdict;
use virtual_time::{Task, earliest_ends, job, reply, simulate};

const ROUNDS: u32 = 50;
const DAGS: u64 = 200;
const GADGETS: usize = 200;
/// At most so much later than the critical path.
const LIMIT: f64 = 1.02;

fn main() {
    cost();
    lateness();
}

/// The calls that a call waits for.
type After = fn(usize) -> Vec<usize>;

fn cost() {
    let shapes: [(&str, usize, After); 4] = [
        ("a chain of 800", 800, |call| last(call, 1)),
        ("1,000 at once", 1_000, |_| Vec::new()),
        ("1,000 with 10 dependencies each", 1_000, |call| {
            last(call, 10)
        }),
        ("10,000 with 10 dependencies each", 10_000, |call| {
            last(call, 10)
        }),
    ];
    println!("\n### Scheduler: from the calls to the last result\n");
    println!("| reply | µs a call |\n|---|---|");
    for (name, size, after) in shapes {
        let tasks: Vec<Task> = (0..size)
            .map(|call| Task {
                arrives: 0,
                takes: 1,
                after: after(call),
            })
            .collect();
        let jobs: Vec<Job> = (0..size).map(|call| job(&tasks, call)).collect();
        let mut best = f64::MAX;
        for _ in 0..ROUNDS {
            let jobs = jobs.clone();
            let mut done = 0;
            best = best.min(seconds(|| done = run(jobs)));
            assert_eq!(done, size);
        }
        println!("| {name} | {:.2} |", best * 1e6 / size as f64);
    }
}

/// The calls right before this one.
fn last(call: usize, count: usize) -> Vec<usize> {
    (call.saturating_sub(count)..call).collect()
}

/// Everything that started is done before the next thing is asked; returns how many calls were run.
fn run(jobs: Vec<Job>) -> usize {
    let mut scheduler = Scheduler::new(Config::default());
    let mut running: VecDeque<CallId> = VecDeque::new();
    let mut done = 0;
    scheduler.begin_reply();
    for job in jobs {
        scheduler.add(job);
    }
    scheduler.end_reply();
    loop {
        while let Some(action) = scheduler.poll() {
            match action {
                Action::Start(id) => running.push_back(id),
                Action::Unmet(_) | Action::Reject { .. } | Action::OverLimit(_) => {
                    panic!("{action:?}")
                }
            }
        }
        let Some(id) = running.pop_front() else { break };
        scheduler.finish(id, Ok(()));
        done += 1;
    }
    black_box(&scheduler);
    done
}

fn lateness() {
    println!("\n### Virtual time: {DAGS} random DAGs of {GADGETS} gadgets, time ÷ critical path\n");
    println!("| calls arrive | max | mean | limit | |\n|---|---|---|---|---|");
    for (name, at_once) in [("all at once", true), ("while others run", false)] {
        let ratios: Vec<f64> = (0..DAGS).map(|seed| ratio(seed, at_once)).collect();
        let max = ratios.iter().copied().fold(0.0, f64::max);
        let mean = ratios.iter().sum::<f64>() / DAGS as f64;
        let missed = (max > LIMIT).then(|| "max".to_owned());
        let verdict = verdict(missed.as_slice());
        println!("| {name} | {max:.4} | {mean:.4} | {LIMIT} | {verdict} |");
    }
}

fn ratio(seed: u64, at_once: bool) -> f64 {
    let mut tasks = reply(seed, GADGETS);
    if at_once {
        for task in &mut tasks {
            task.arrives = 0;
        }
    }
    let last = |ends: Vec<u64>| ends.into_iter().max().unwrap_or(0) as f64;
    let (ends, _) = simulate(&tasks, Config::default());
    last(ends) / last(earliest_ends(&tasks))
}
