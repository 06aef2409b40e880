//! What a run costs beside its model and its gadgets: one core, and neither takes any time.
//!
//! `docs/performance.md` says what each number must be. `run` of the engine has the same loads without a runtime.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod agent;
#[path = "../../gadgetry-proto/benches/support/mod.rs"]
mod support;

use std::time::Duration;

use support::clock::{best, seconds};
use support::engine::{drive, plan};
use support::loads::{ITERATIONS, LOADS, Load, MORE_ITERATIONS};
use support::{size, verdict};

const SIZES: [usize; 3] = [4, 64, usize::MAX];
const AT_LEAST: Duration = Duration::from_secs(1);
/// An iteration of a long run may cost so much more than one of a short run.
const GROWTH: f64 = 1.3;
/// How often each of the two is measured.
const TURNS: u32 = 3;

fn main() {
    cost();
    growth();
}

fn cost() {
    println!("\n### µs a call of a run, in pieces of a reply (the engine's part of it)\n");
    println!("| load | {} | limit | |", SIZES.map(size).join(" | "));
    println!("|---|{}---|---|", "---|".repeat(SIZES.len()));
    for load in LOADS {
        let mut missed = Vec::new();
        let cells = SIZES.map(|pieces| {
            let (whole, engine) = (run(&load, pieces), engine(&load, pieces));
            // A limit is for a reply that comes at once: what pieces cost is the scanner's, and not a call's.
            if pieces == usize::MAX && whole > load.limit {
                missed.push(size(pieces));
            }
            format!("{whole:.2} ({engine:.2})")
        });
        let (cells, verdict) = (cells.join(" | "), verdict(&missed));
        println!("| {} | {cells} | {} | {verdict} |", load.name, load.limit);
    }
}

/// Microseconds a call of a load, in pieces of some size.
type Measure = fn(&Load, usize) -> f64;

fn growth() {
    println!("\n### A long run: µs an iteration of 100 → of 1,000 = ratio, at most {GROWTH}\n");
    println!("| run | | |\n|---|---|---|");
    let measures: [(&str, Measure); 2] = [("agent", run), ("engine", engine)];
    for (name, measure) in measures {
        // In turn, so that a busy machine slows both.
        let (mut few, mut many) = (f64::MAX, f64::MAX);
        for _ in 0..TURNS {
            few = few.min(measure(&ITERATIONS, usize::MAX));
            many = many.min(measure(&MORE_ITERATIONS, usize::MAX));
        }
        let ratio = many / few;
        let missed = (ratio > GROWTH).then(|| "ratio".to_owned());
        let verdict = verdict(missed.as_slice());
        println!("| {name} | {few:.2} → {many:.2} = {ratio:.2} | {verdict} |");
    }
}

/// Microseconds a call, all in all.
fn run(load: &Load, size: usize) -> f64 {
    let runtime = agent::runtime();
    a_call(load, || {
        let agent = agent::agent(load, size);
        seconds(|| {
            agent::run(&runtime, &agent, load);
        })
    })
}

/// Microseconds a call in the engine alone.
fn engine(load: &Load, size: usize) -> f64 {
    let plan = plan(load);
    a_call(load, || {
        let replies = load.replies(size);
        seconds(|| load.check(&drive(&plan, replies).0))
    })
}

fn a_call(load: &Load, run: impl FnMut() -> f64) -> f64 {
    best(AT_LEAST, run) * 1e6 / f64::from(load.all_calls())
}
