//! How many instructions a push takes. `cargo xtask bench instructions` counts them with callgrind.
//!
//! `instructions --list` prints a case a line and its limit, `instructions CASE N` does N rounds of a case. A round is
//! one push, one small call from its first byte to its parameters, or one call of a run from its first byte to its result.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod support;

use std::hint::black_box;

use gadgetry_proto::reply::ReplyEvent;
use support::engine::{drive, plan};
use support::loads::{CHAIN, ITERATIONS, Load, PARALLEL};
use support::reading::{consume, scanner};
use support::texts::{PLACES, Place, call, chunks, prose};

/// The most instructions of one push at each of [`PLACES`].
const PUSH: [u32; 3] = [120, 180, 150];

/// The most instructions of a small call that is read whole.
const CALL: u32 = 4000;

/// Runs, and what one call of theirs is called.
const RUNS: [(&str, Load); 3] = [
    ("run-iteration", ITERATIONS),
    ("run-parallel-call", PARALLEL),
    ("run-chained-call", CHAIN),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, rounds] = arguments.as_slice() else {
        return list();
    };
    let rounds: usize = rounds.parse().expect("rounds are a number");
    let place = PLACES.into_iter().find(|place| *case == push_case(*place));
    let run = RUNS.into_iter().find(|(name, _)| case == name);
    match (place, run, case.as_str()) {
        (Some(place), ..) => pushes(place, rounds),
        (_, Some((_, load)), _) => runs(load, rounds),
        (None, None, "small-call-whole") => calls(rounds, usize::MAX),
        (None, None, "small-call-in-4-byte-pushes") => calls(rounds, 4),
        (None, None, _) => panic!("there is no case `{case}`"),
    }
}

fn list() {
    for (place, most) in PLACES.into_iter().zip(PUSH) {
        println!("{} {most}", push_case(place));
    }
    println!("small-call-whole {CALL}");
    println!("small-call-in-4-byte-pushes");
    for (name, _) in RUNS {
        println!("{name}");
    }
}

fn push_case(place: Place) -> String {
    format!("{}-4-byte-push", place.name)
}

fn pushes(place: Place, rounds: usize) {
    let text = prose(1 << 16);
    let chunks = chunks(&text, 4);
    let mut scanner = scanner();
    let mut events = |event: ReplyEvent<'_>| {
        black_box(consume(event));
    };
    scanner.push(place.opener, &mut events);
    for chunk in chunks.iter().cycle().take(rounds) {
        scanner.push(chunk, &mut events);
    }
}

fn calls(rounds: usize, size: usize) {
    let texts: Vec<String> = (0..100).map(call).collect();
    let calls: Vec<Vec<&str>> = texts.iter().map(|text| chunks(text, size)).collect();
    let mut scanner = scanner();
    let mut events = |event: ReplyEvent<'_>| {
        if let ReplyEvent::Call(call) = event {
            black_box(call.parameters(None)).expect("the call is well formed");
        }
    };
    for chunk in calls.iter().cycle().take(rounds).flatten() {
        scanner.push(chunk, &mut events);
    }
}

/// One run whose calls are as many as the rounds.
fn runs(load: Load, rounds: usize) {
    let load = load.of_calls(u32::try_from(rounds).expect("rounds are few"));
    let (summary, events) = drive(&plan(&load), load.replies(usize::MAX));
    load.check(&summary);
    black_box(events);
}
