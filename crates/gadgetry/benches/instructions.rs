//! How many instructions a call of an agent takes. `cargo xtask bench instructions` counts them with callgrind.
//!
//! `instructions --list` prints a case a line and its limit, if it has one, `instructions CASE N` does one run with N calls. Replies come whole, or in
//! pieces of 4 bytes, which is about a token.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod agent;
#[path = "../../gadgetry-proto/benches/support/mod.rs"]
mod support;

use support::loads::{CHAIN, ITERATIONS, Load, PARALLEL};

/// The most instructions of a call in [`LIMITED`].
const CALL: u32 = 60_000;

/// The case that has a limit.
const LIMITED: &str = "agent-parallel-call";

/// Runs, what one call of theirs is called, and the size of pieces.
const RUNS: [(&str, Load, usize); 4] = [
    ("agent-iteration", ITERATIONS, usize::MAX),
    ("agent-iteration-in-4-byte-pieces", ITERATIONS, 4),
    (LIMITED, PARALLEL, usize::MAX),
    ("agent-chained-call", CHAIN, usize::MAX),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, rounds] = arguments.as_slice() else {
        for (name, ..) in RUNS {
            if name == LIMITED {
                println!("{name} {CALL}");
            } else {
                println!("{name}");
            }
        }
        return;
    };
    let calls: u32 = rounds.parse().expect("rounds are a number");
    let found = RUNS.into_iter().find(|(name, ..)| name == case);
    let Some((_, load, size)) = found else {
        panic!("there is no case `{case}`")
    };
    let load = load.of_calls(calls);
    let (runtime, agent) = (agent::runtime(), agent::agent(&load, size));
    agent::run(&runtime, &agent, &load);
}
