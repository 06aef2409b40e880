//! The loads that `cargo xtask bench peers` also gives to other libraries.
//!
//! `peers --loads` prints them as JSON, so that everyone reads the same pieces; otherwise a line for each: its name,
//! and the seconds that it takes.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod agent;
#[path = "../../gadgetry-proto/benches/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::Duration;

use serde_json::json;
use support::clock::{best, seconds};
use support::loads::{GADGET, ITERATIONS, RESULT};
use support::reading::{read, read_calls, scanner};
use support::texts::{call, chunks, prose};

const AT_LEAST: Duration = Duration::from_secs(2);
const PROSE: usize = 1 << 16;
const PIECE: usize = 4;
const CALLS: usize = 1_000;
const PROMPT: &str = "Fetch everything.";

fn main() {
    let prose = prose(PROSE);
    let pieces = chunks(&prose, PIECE);
    let calls: String = (0..CALLS).map(call).collect();
    if std::env::args().any(|argument| argument == "--loads") {
        let loads = json!({
            // Length in UTF-16, as JavaScript counts.
            "prose": { "pieces": pieces, "text": prose.encode_utf16().count(), "calls": 0 },
            "calls": { "pieces": [calls], "text": 0, "calls": CALLS },
            "iteration": {
                "replies": ITERATIONS.texts(),
                "prompt": PROMPT,
                "gadget": GADGET,
                "result": RESULT,
            },
        });
        println!("{loads}");
        return;
    }
    let reading_prose = || {
        seconds(|| {
            black_box(read(&mut scanner(), pieces.iter().copied()));
        })
    };
    let reading_calls = || seconds(|| assert_eq!(read_calls(&mut scanner(), [&*calls]), CALLS));
    println!("prose {}", best(AT_LEAST, reading_prose));
    println!("calls {}", best(AT_LEAST, reading_calls));
    println!("iteration {}", iteration());
}

/// An iteration of an agent's run: a reply with a call, the call, and its result for the next request.
fn iteration() -> f64 {
    let runtime = agent::runtime();
    let run = best(AT_LEAST, || {
        let agent = agent::agent(&ITERATIONS, usize::MAX);
        seconds(|| {
            agent::run(&runtime, &agent, &ITERATIONS);
        })
    });
    run / f64::from(ITERATIONS.iterations)
}
