//! `cargo xtask mutants`: would the tests notice a mistake?
//!
//! cargo-mutants changes one place of the code at a time (an operator, a constant, the body of a function) and runs the
//! tests of its crate. A change that they do not notice is missed: either a test is lacking or the code is. There are
//! about 3,000 changes, and each builds the crate: a day for all on two cores, so shards can be run one at a time.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::disk;
use crate::servers::target;
use crate::shell::{answers, cargo, command, root, run as sh};

const VERSION: &str = "27.1.0";

/// Code that decides: the parts of the engine where a mistake would be expensive, and the wires.
const SCOPE: [&str; 6] = [
    "crates/gadgetry-proto/src/sched/**/*.rs",
    "crates/gadgetry-proto/src/reply/**/*.rs",
    "crates/gadgetry-proto/src/run/**/*.rs",
    "crates/gadgetry-proto/src/convo/**/*.rs",
    "crates/gadgetry-providers/src/anthropic/**/*.rs",
    "crates/gadgetry-providers/src/openai/**/*.rs",
];

/// Output for debugging; no test compares it.
const EXCLUDED: &str = "impl (std::)?fmt::Debug";

/// The most of the changes that may be missed, in percent.
const AT_MOST: f64 = 5.0;

/// The outcome of the changes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    caught: usize,
    missed: Vec<String>,
    /// The tests did not end: they would never pass.
    timed_out: usize,
}

/// Runs all changes, or the shard `K/N`, and fails if more than [`AT_MOST`] percent are missed.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let shard = match args {
        [] => None,
        [shard] if is_shard(shard) => Some(shard),
        _ => {
            let usage = "mutants takes one shard `K/N`, with K from 0 to N - 1";
            return Err(Failure::Usage(usage.to_owned()));
        }
    };
    let program = program()?;
    let output = target().join("mutants");
    let mut mutants = command(&program.to_string_lossy(), &["mutants", "--output"]);
    // Without `--workspace` only the default member is looked at. A shard takes every Nth change, so that each is a fair
    // sample of all.
    mutants
        .arg(&output)
        .args(["--workspace", "--sharding", "round-robin"])
        .args(["--no-shuffle", "--cap-lints=true"])
        .args(["--exclude-re", EXCLUDED]);
    for files in SCOPE {
        mutants.args(["--file", files]);
    }
    if let Some(shard) = shard {
        mutants.args(["--shard", shard]);
    }
    // Examples, benches and doc tests would be built for each change, too. The unit tests and the one test program are enough.
    mutants.args(["--", "--lib", "--test", "tests"]);
    // It fails when a change is missed; how many are is for us to judge.
    let status = mutants.status();
    let status = status.map_err(|error| format!("cargo-mutants did not start: {error}"))?;
    if !matches!(status.code(), Some(0 | 2 | 3)) {
        return Err(Failure::Check(format!("cargo-mutants failed: {status}")));
    }
    report(&tally(&output.join("mutants.out"))?)
}

fn is_shard(text: &str) -> bool {
    let numbers = text.split_once('/');
    let numbers = numbers.and_then(|(k, n)| Some((k.parse::<u32>().ok()?, n.parse::<u32>().ok()?)));
    numbers.is_some_and(|(k, n)| k < n)
}

/// The program, installed below the target folder if this version is not there yet.
fn program() -> Result<PathBuf, String> {
    let folder = root().join(target()).join(format!("mutants-{VERSION}"));
    let program = folder.join("bin/cargo-mutants");
    if !answers(&mut command(
        &program.to_string_lossy(),
        &["mutants", "--version"],
    )) {
        eprintln!(
            "cargo-mutants {VERSION} is installed into {}",
            folder.display()
        );
        let install = ["install", "cargo-mutants", "--locked", "--version", VERSION];
        let mut install = cargo(&install);
        install.args([OsString::from("--root"), folder.into_os_string()]);
        sh(&mut install).map_err(|why| format!("cargo-mutants could not be installed: {why}"))?;
    }
    Ok(program)
}

/// Counts what cargo-mutants has written: a file for each kind of outcome, with a change a line.
fn tally(folder: &Path) -> Result<Tally, String> {
    let lines = |name: &str| -> Result<Vec<String>, String> {
        let text = disk::read(&folder.join(name))?;
        Ok(text.lines().map(str::to_owned).collect())
    };
    Ok(Tally {
        caught: lines("caught.txt")?.len(),
        missed: lines("missed.txt")?,
        timed_out: lines("timeout.txt")?.len(),
    })
}

fn report(tally: &Tally) -> Result<(), Failure> {
    let missed = tally.missed.len();
    let all = missed + tally.caught + tally.timed_out;
    println!(
        "\n{all} changes: {} caught, {} timed out, {missed} missed",
        tally.caught, tally.timed_out
    );
    for change in &tally.missed {
        println!("  {change}");
    }
    let percent = share(missed, all);
    println!("{percent:.1} % missed, at most {AT_MOST} %");
    if percent > AT_MOST {
        return Err(Failure::Check(format!(
            "{percent:.1} % of the changes are missed"
        )));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "there are thousands of changes")]
fn share(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_two_numbers() {
        for (text, is_one) in [
            ("0/8", true),
            ("7/8", true),
            ("8/8", false),
            ("1", false),
            ("-1/8", false),
            ("a/8", false),
            ("0/0", false),
        ] {
            assert_eq!(is_shard(text), is_one, "{text}");
        }
    }

    #[test]
    fn more_than_a_share_fails() {
        let of = |caught, missed: usize| Tally {
            caught,
            missed: vec!["x.rs:1:2: replace + with -".to_owned(); missed],
            timed_out: 0,
        };
        for (tally, fails) in [(of(95, 5), false), (of(94, 6), true), (of(0, 0), false)] {
            assert_eq!(report(&tally).is_err(), fails, "{tally:?}");
        }
    }
}
