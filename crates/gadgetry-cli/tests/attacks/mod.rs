//! Attacks through the built binary and real sockets: what a hostile or broken model, server, page or file may try.
//!
//! The rows are in `corpus/attacks/`, one file an attacker; its README describes the format. Whatever a row sends, the
//! same must hold: no gadget runs that should not, no key is printed or sent, the program ends by itself with exit
//! code 0 or 1 (2 only where the row says so), and its memory is bounded.

#![cfg(unix)]

mod gateway;
mod outcome;
mod row;
mod server;
mod victim;

use std::num::NonZero;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use row::Row;

/// The rows that there must be at least; fewer means that a file was lost.
const AT_LEAST: usize = 1_000;

#[test]
fn no_attack_succeeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/attacks");
    let rows = row::load(&folder);
    assert!(rows.len() >= AT_LEAST, "only {} rows", rows.len());
    each_of(&rows, check);
}

/// Carries out all rows, as many at once as there are processors. Fails with the reports of those that differ.
fn each_of<R: Sync>(rows: &[R], check: impl Fn(&R) -> Result<(), String> + Sync) {
    let wrong = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(report) = check(row) {
                        wrong.lock().expect("no panic").push(report);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(
        wrong.is_empty(),
        "{} of {} attacks:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

/// Carries out one attack; an error is a report of everything that differs.
fn check(row: &Row) -> Result<(), String> {
    let outcome = victim::run(row);
    let problems = outcome.problems(row);
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\n  {}\n{outcome}",
        row.title(),
        problems.join("\n  ")
    ))
}
