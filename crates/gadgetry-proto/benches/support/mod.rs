//! What the benches share: texts, a scanner to read them with, loads for a run, a clock, and verdicts.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "every bench target uses its own part of it"
)]

pub mod clock;
pub mod engine;
pub mod loads;
pub mod reading;
pub mod texts;

/// One MiB.
pub const MIB: usize = 1 << 20;

/// What a table says about a limit: `PASS`, or what missed it.
pub fn verdict(missed: &[String]) -> String {
    if missed.is_empty() {
        "PASS".to_owned()
    } else {
        format!("missed: {}", missed.join(", "))
    }
}

/// A size as one says it.
pub fn size(bytes: usize) -> String {
    match bytes {
        usize::MAX => "whole".to_owned(),
        MIB.. => format!("{} MiB", bytes / MIB),
        1024.. => format!("{} KiB", bytes / 1024),
        _ => format!("{bytes} B"),
    }
}
