//! What a run takes from the allocator, and how large the process becomes.
//!
//! Each load runs in a process of its own. Its largest size is Linux's `VmHWM`; elsewhere it is not known.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod agent;
#[path = "../../gadgetry-proto/benches/support/mod.rs"]
mod support;

use std::env;
use std::process::Command;

use allocation_counter::measure;
use support::loads::{LOADS, Load};

/// The argument of a child, before the number of its load.
const LOAD: &str = "--load";

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [flag, number] = arguments.as_slice()
        && flag == LOAD
    {
        let number: usize = number.parse().expect("a load has a number");
        return row(LOADS.get(number));
    }
    println!("\n### Memory of a run\n");
    println!(
        "| load | allocations a call | bytes a call | most bytes at once | largest process, MiB |"
    );
    println!("|---|---|---|---|---|");
    for number in 0..=LOADS.len() {
        let program = env::current_exe().expect("this program has a path");
        let mut child = Command::new(program);
        let child = child.arg(LOAD).arg(number.to_string()).status();
        assert!(child.is_ok_and(|status| status.success()), "load {number}");
    }
}

/// One line of the table; without a load, what a process takes that only starts a runtime.
fn row(load: Option<&Load>) {
    let runtime = agent::runtime();
    let Some(load) = load else {
        return println!("| nothing | | | | {} |", largest());
    };
    let agent = agent::agent(load, usize::MAX);
    let taken = measure(|| {
        agent::run(&runtime, &agent, load);
    });
    let calls = u64::from(load.all_calls());
    println!(
        "| {} | {} | {} | {} KiB | {} |",
        load.name,
        taken.count_total / calls,
        taken.bytes_total / calls,
        taken.bytes_max >> 10,
        largest()
    );
}

/// The most memory that this process had, in MiB.
fn largest() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    kib.map_or("unknown".to_owned(), |kib| format!("{:.1}", kib / 1024.0))
}
