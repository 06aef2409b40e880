//! How many instructions a call of an agent takes. `cargo xtask bench instructions` counts them with callgrind.
//!
//! `instructions --list` prints a case a line, `instructions CASE N` does one run with N calls.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod agent;
#[path = "../../gadgetry-proto/benches/support/mod.rs"]
mod support;

use support::loads::{CHAIN, ITERATIONS, Load, PARALLEL};

/// Runs, and what one call of theirs is called.
const RUNS: [(&str, Load); 3] = [
    ("agent-iteration", ITERATIONS),
    ("agent-parallel-call", PARALLEL),
    ("agent-chained-call", CHAIN),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, rounds] = arguments.as_slice() else {
        for (name, _) in RUNS {
            println!("{name}");
        }
        return;
    };
    let calls: u32 = rounds.parse().expect("rounds are a number");
    let found = RUNS.into_iter().find(|(name, _)| name == case);
    let Some((_, load)) = found else {
        panic!("there is no case `{case}`")
    };
    let load = load.of_calls(calls);
    let (runtime, agent) = (agent::runtime(), agent::agent(&load, usize::MAX));
    agent::run(&runtime, &agent, &load);
}
