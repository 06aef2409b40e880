//! `cargo xtask bench peers`: our speed next to that of other libraries, in one run.
//!
//! llmist, whose block format ours began as, comes from npm into the target folder; it is never a dependency. Both read
//! the same pieces, which our bench target `peers` prints. The programs run in turn, and the best time of each counts,
//! so that a busy machine changes the ratios little.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::disk;
use crate::servers::{environment, npm_install, pip, target};
use crate::shell::{capture, cargo, command, root, run as sh};

const LLMIST: &str = "18.4.0";
/// The proxy that the gateway is compared with. Later versions need packages that not every mirror has.
const LITELLM: &str = "1.106.2";
/// Number of runs of each program.
const TURNS: usize = 3;

/// A load, as both programs name it, and what a table says of it.
const LOADS: [(&str, &str, f64, &str); 3] = [
    ("prose", "64 KiB of prose in pieces of 4 bytes", 1e3, "ms"),
    ("calls", "1,000 small calls in one piece", 1e3, "ms"),
    ("iteration", "an agent's iteration with one call", 1e6, "µs"),
];

/// Prints the table. `ours` is the built bench target.
pub(crate) fn compare(ours: &str) -> Result<(), String> {
    let folder = target().join("peers").join(format!("llmist-{LLMIST}"));
    if let Err(why) = installed(&folder) {
        println!("skipped: {why}");
        return Ok(());
    }
    let (loads, _) = capture(&mut command(ours, &["--loads"]))?;
    let file = folder.join("loads.json");
    disk::write(&file, &loads)?;
    let (mut our_best, mut their_best) = ([f64::MAX; LOADS.len()], [f64::MAX; LOADS.len()]);
    for _ in 0..TURNS {
        let (printed, _) = capture(&mut command(ours, &[]))?;
        keep_best(&mut our_best, &printed)?;
        let (printed, _) = capture(&mut llmist(&folder, &file)?)?;
        keep_best(&mut their_best, &printed)?;
    }
    println!("\n### Next to llmist {LLMIST} (MIT, npm), the best of {TURNS} runs each\n");
    println!("| load | gadgetry | llmist | ratio |\n|---|---|---|---|");
    for (index, (_, load, scale, unit)) in LOADS.iter().enumerate() {
        let (our, their) = (our_best[index] * scale, their_best[index] * scale);
        println!(
            "| {load} | {our:.3} {unit} | {their:.1} {unit} | {:.0} × |",
            their / our
        );
    }
    Ok(())
}

/// Runs the load of the gateway, and of `LiteLLM` if it can be installed. `ours` is the built bench target.
pub(crate) fn under_load(ours: &str, args: &[String]) -> Result<(), String> {
    let mut load = command(ours, &[]);
    load.args(args);
    match litellm() {
        Ok(python) => {
            load.args(["--litellm", &python]);
        }
        Err(why) => println!("skipped: {why}"),
    }
    sh(&mut load)
}

/// Runs the program that compares our readers of dialects with those of tool-parser and dynamo-parsers. It is a workspace of its own,
/// so nothing else builds these crates.
pub(crate) fn dialects(args: &[String]) -> Result<(), String> {
    let manifest = "xtask/peers/dialects/Cargo.toml";
    let mut bench = cargo(&["run", "--release", "--locked", "--manifest-path", manifest]);
    bench.env("CARGO_TARGET_DIR", target().join("peers/dialects"));
    sh(bench.arg("--").args(args))
}

/// The interpreter of an environment that has `LiteLLM`.
fn litellm() -> Result<String, String> {
    let folder = target().join("peers").join(format!("litellm-{LITELLM}"));
    let done = folder.join("installed");
    let python = folder.join("venv/bin/python");
    if !done.is_file() {
        // Whatever an attempt that was cut off has left.
        disk::empty_folder(&folder)?;
        let python = environment(&folder)?;
        capture(pip(&python).arg(format!("litellm[proxy]=={LITELLM}")))?;
        disk::write(&done, "")?;
    }
    Ok(python.display().to_string())
}

fn installed(folder: &Path) -> Result<(), String> {
    if folder.join("node_modules/llmist/package.json").is_file() {
        return Ok(());
    }
    disk::folder(folder)?;
    npm_install(folder, &format!("llmist@{LLMIST}"))
}

fn llmist(folder: &Path, loads: &Path) -> Result<std::process::Command, String> {
    let script: PathBuf = root().join("xtask/peers/llmist.mjs");
    let loads = fs::File::open(loads).map_err(|error| format!("{}: {error}", loads.display()))?;
    let mut node = command("node", &[]);
    node.arg(script).arg(folder).stdin(Stdio::from(loads));
    Ok(node)
}

/// Reads lines `load seconds`; each load must be there.
fn keep_best(best: &mut [f64; LOADS.len()], printed: &str) -> Result<(), String> {
    for ((name, ..), best) in LOADS.iter().zip(best) {
        let seconds = printed.lines().find_map(|line| {
            let (load, seconds) = line.split_once(' ')?;
            (load == *name).then(|| seconds.trim().parse::<f64>().ok())?
        });
        let seconds = seconds.ok_or_else(|| format!("no time of `{name}` in:\n{printed}"))?;
        *best = best.min(seconds);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_time_of_each_load_is_kept() {
        let mut best = [f64::MAX; LOADS.len()];
        for (printed, is_whole) in [
            ("prose 3\ncalls 2.5e-3\niteration 0.5\n", true),
            ("noise\niteration 0.25\ncalls 7\nprose 2\n", true),
            ("prose 1\ncalls x\niteration 1\n", false),
            ("", false),
        ] {
            assert_eq!(keep_best(&mut best, printed).is_ok(), is_whole, "{printed}");
        }
        let expected = [1.0, 2.5e-3, 0.25];
        assert!(
            best.iter()
                .zip(expected)
                .all(|(one, other)| (one - other).abs() < 1e-12),
            "{best:?}"
        );
    }
}
