//! What a run costs without a runtime: the engine alone, every answer at once.
//!
//! The same loads as the bench `overhead` of the runtime, so that the difference is what waiting costs.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod support;

use std::time::Duration;

use support::clock::{best, seconds};
use support::engine::{drive, plan};
use support::loads::{LOADS, Load};
use support::size;

const SIZES: [usize; 3] = [4, 64, usize::MAX];
const AT_LEAST: Duration = Duration::from_secs(1);

fn main() {
    println!("\n### Engine alone, µs a call\n");
    println!("| load | {} |", SIZES.map(size).join(" | "));
    println!("|---|{}", "---|".repeat(SIZES.len()));
    for load in LOADS {
        let cells = SIZES.map(|size| format!("{:.2}", microseconds(&load, size)));
        println!("| {} | {} |", load.name, cells.join(" | "));
    }
}

/// Of one call, the reply coming in pieces of this size.
fn microseconds(load: &Load, size: usize) -> f64 {
    let plan = plan(load);
    let whole = best(AT_LEAST, || {
        let replies = load.replies(size);
        let mut summary = None;
        let time = seconds(|| summary = Some(drive(&plan, replies).0));
        load.check(&summary.expect("the run is over"));
        time
    });
    whole * 1e6 / f64::from(load.all_calls())
}
