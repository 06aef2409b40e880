//! `cargo xtask bench`: every bench target of the workspace, in order, and instruction counts.
//!
//! A bench target named `instructions` is counted, not timed. It is a program with two forms:
//!
//! * `instructions --list` prints a case a line: a name and, if it has one, the most instructions that one round may take;
//! * `instructions CASE ROUNDS` does the case that many times.
//!
//! Bench targets named `peers` and `gateway` are run next to other libraries and programs: see [`crate::peers`]. Those named
//! `program` and `day` measure the program that is distributed.
//!
//! Three have no target and run by their whole names only: `models` measures a real model before the built program, which takes an
//! hour, `dialects` builds the crates that our readers of dialects are compared with ([`peers::dialects`]), and `bindings` builds the
//! packages for Python and Node.js ([`bindings::bench`]).
//!
//! Each case of `instructions` runs twice under callgrind, and the difference is shared among the rounds, so that what comes before
//! them does not count.

use std::fs;

use crate::Failure;
use crate::bindings;
use crate::dist;
use crate::peers;
use crate::servers::{self, target};
use crate::shell::{answers, capture, cargo, command, root, run as sh};

const INSTRUCTIONS: &str = "instructions";
const PEERS: &str = "peers";
const GATEWAY: &str = "gateway";
const PROGRAM: &str = "program";
const DAY: &str = "day";
const MODELS: &str = "models";
const DIALECTS: &str = "dialects";
const BINDINGS: &str = "bindings";
const ROUNDS: u64 = 1000;

struct Target {
    package: String,
    name: String,
}

/// Runs the targets whose name holds the first argument; what follows `--` goes to each that is timed. A target that
/// fails does not keep the others from running.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (ours, theirs) = match args.iter().position(|arg| arg == "--") {
        Some(at) => (&args[..at], &args[at + 1..]),
        None => (args, [].as_slice()),
    };
    let filter = match ours {
        [] => "",
        [filter] if !filter.starts_with('-') => filter.as_str(),
        _ => {
            return Err(Failure::Usage(
                "bench takes one NAME; arguments for the targets follow `--`".to_owned(),
            ));
        }
    };
    if filter == MODELS {
        return Ok(measure_models(theirs)?);
    }
    if filter == DIALECTS {
        return Ok(peers::dialects(theirs)?);
    }
    if filter == BINDINGS {
        return Ok(bindings::bench(theirs)?);
    }
    let targets = targets()?;
    let mut found = false;
    let mut failures = Vec::new();
    for target in targets.iter().filter(|target| target.name.contains(filter)) {
        found = true;
        println!("\n── {}: {}", target.package, target.name);
        let done = match target.name.as_str() {
            INSTRUCTIONS => count_instructions(target),
            PEERS => built(target).and_then(|program| peers::compare(&program)),
            GATEWAY => built(target).and_then(|program| peers::under_load(&program, theirs)),
            PROGRAM | DAY => built(target).and_then(|bench| measure_program(&bench)),
            _ => sh(bench(target, &[]).arg("--").args(theirs)),
        };
        failures.extend(done.err());
    }
    if !found {
        return Err(Failure::Check(format!("no bench target holds `{filter}`")));
    }
    if !failures.is_empty() {
        return Err(Failure::Check(failures.join("\n")));
    }
    Ok(())
}

/// `crates/*/benches/*.rs` and `crates/*/benches/*/main.rs`, sorted.
fn targets() -> Result<Vec<Target>, String> {
    let mut targets = Vec::new();
    for package in names(&root().join("crates"))? {
        let benches = root().join("crates").join(&package).join("benches");
        if !benches.is_dir() {
            continue;
        }
        for entry in names(&benches)? {
            let name = match entry.strip_suffix(".rs") {
                Some(name) => name,
                None if benches.join(&entry).join("main.rs").is_file() => &entry,
                None => continue,
            };
            targets.push(Target {
                package: package.clone(),
                name: name.to_owned(),
            });
        }
    }
    Ok(targets)
}

/// The names in a folder, sorted.
fn names(folder: &std::path::Path) -> Result<Vec<String>, String> {
    let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn bench(target: &Target, flags: &[&str]) -> std::process::Command {
    let mut bench = cargo(&["bench", "--package", &target.package]);
    bench.args(["--bench", &target.name]).args(flags);
    bench
}

fn count_instructions(target: &Target) -> Result<(), String> {
    if !answers(&mut command("valgrind", &["--version"])) {
        println!("skipped: valgrind is not installed");
        return Ok(());
    }
    let binary = &built(target)?;
    let (cases, _) = capture(&mut command(binary, &["--list"]))?;
    println!("\n### Instructions a round\n");
    println!("| case | instructions | at most | |\n|---|---|---|---|");
    let mut over = Vec::new();
    for case in cases.lines() {
        let mut words = case.split_whitespace();
        let Some(name) = words.next() else { continue };
        let limit: Option<u64> = match words.next() {
            Some(limit) => Some(
                limit
                    .parse()
                    .map_err(|_| format!("`{case}`: the limit is not a number"))?,
            ),
            None => None,
        };
        let once = callgrind(binary, name, ROUNDS)?;
        let twice = callgrind(binary, name, 2 * ROUNDS)?;
        let count = twice.saturating_sub(once) / ROUNDS;
        match limit {
            Some(limit) if count > limit => {
                over.push(name);
                println!("| {name} | {count} | {limit} | above |");
            }
            Some(limit) => println!("| {name} | {count} | {limit} | PASS |"),
            None => println!("| {name} | {count} | | |"),
        }
    }
    if over.is_empty() {
        return Ok(());
    }
    Err(format!(
        "more instructions than allowed: {}",
        over.join(", ")
    ))
}

/// Builds and strips the program that is distributed, for a target that measures it.
fn measure_program(bench: &str) -> Result<(), String> {
    if !answers(&mut command("strip", &["--version"])) {
        println!("skipped: strip is not installed");
        return Ok(());
    }
    let program = dist::program()?;
    let stripped = program.with_file_name("gadgetry-stripped");
    sh(command("strip", &["-o"]).arg(&stripped).arg(&program))?;
    sh(command(bench, &[]).arg(&stripped))
}

/// Measures how a real model calls tools through the gateway. The program is built without optimisation, because all the time is
/// the model's.
fn measure_models(args: &[String]) -> Result<(), String> {
    let missing = servers::install_models()?;
    if !missing.is_empty() {
        println!("skipped: {}", missing.join("; "));
        return Ok(());
    }
    sh(&mut cargo(&["build", "--package", "gadgetry-cli"]))?;
    let folder = servers::command_of("bfcl")?.pop().unwrap_or_default();
    let mut measure = command("python3", &["xtask/models/measure.py", "--launcher"]);
    measure.args(servers::command_of("llama-cpp")?);
    measure.arg("--model").args(servers::command_of("smollm2")?);
    if let Ok(file) = servers::command_of(servers::GEMMA) {
        measure.arg("--base").args(file);
    }
    measure.args(["--data", &folder, "--gateway"]);
    sh(measure.arg(target().join("debug/gadgetry")).args(args))
}

/// Builds a target, and returns the path of its program.
fn built(target: &Target) -> Result<String, String> {
    let (_, log) = capture(&mut bench(target, &["--no-run"]))?;
    let path = executable(&log).map(str::to_owned);
    path.ok_or_else(|| format!("cargo named no executable:\n{log}"))
}

/// All instructions of one run.
fn callgrind(binary: &str, case: &str, rounds: u64) -> Result<u64, String> {
    let rounds = rounds.to_string();
    let (_, log) = capture(&mut command(
        "valgrind",
        &[
            "--tool=callgrind",
            "--callgrind-out-file=/dev/null",
            binary,
            case,
            &rounds,
        ],
    ))?;
    collected(&log).ok_or_else(|| format!("callgrind counted nothing:\n{log}"))
}

/// The path in cargo's line `Executable benches/x.rs (target/release/deps/x-0123)`.
fn executable(log: &str) -> Option<&str> {
    let line = log
        .lines()
        .find(|line| line.trim_start().starts_with("Executable "))?;
    line.rsplit_once('(')?.1.strip_suffix(')')
}

/// The count in callgrind's line `==17== Collected : 123456`.
fn collected(log: &str) -> Option<u64> {
    log.lines()
        .find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_tools_print() {
        let cargo = "    Finished `bench` profile [optimized]\n  Executable benches/x.rs (target/release/deps/x-0a)\n";
        assert_eq!(executable(cargo), Some("target/release/deps/x-0a"));
        let callgrind = "==17== Events    : Ir\n==17== Collected : 123456\n==17== \n";
        assert_eq!(collected(callgrind), Some(123_456));
        assert_eq!(executable("Finished"), None);
        assert_eq!(collected("Finished"), None);
    }
}
