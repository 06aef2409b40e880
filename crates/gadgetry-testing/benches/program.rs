//! The program that is distributed: its size, and how long it takes to start. `cargo xtask bench program` builds and strips it.
//!
//! `program PATH` measures whole processes from their start: `--help` to its end, `chat` in a terminal to its first prompt. A
//! program that is too large fails it; times are shown.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod support;

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use support::{Terminal, head, row, times};

/// Bytes of the stripped program.
const SIZE: u64 = 27_000_000;
/// Milliseconds of `--help`, and to the first prompt of `chat`.
const HELP: f64 = 10.0;
const PROMPT: f64 = 50.0;

fn main() -> ExitCode {
    // `cargo bench` alone passes an option and no path.
    let path = env::args().nth(1).filter(|it| !it.starts_with('-'));
    let Some(path) = path else {
        println!("`cargo xtask bench program` measures the program that is distributed");
        return ExitCode::SUCCESS;
    };
    let path = Path::new(&path);
    println!("\n### The program that is distributed\n");
    head();
    let size = fs::metadata(path).expect("a program").len();
    row("MB, stripped", &[mega(size)], mega(SIZE));
    row("ms of `--help`", &times(40, || help(path)), HELP);
    let prompts = times(20, || first_prompt(path));
    row("ms to the first prompt of `chat`", &prompts, PROMPT);
    if size <= SIZE {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn mega(bytes: u64) -> f64 {
    let kilo = u32::try_from(bytes / 1000).expect("a size in kilobytes");
    f64::from(kilo) / 1000.0
}

fn help(path: &Path) -> Duration {
    let began = Instant::now();
    let status = Command::new(path)
        .arg("--help")
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("it starts").success());
    began.elapsed()
}

/// The time until a new conversation shows its prompt, in a folder of its own.
fn first_prompt(path: &Path) -> Duration {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::write(folder.join("script.jsonl"), "{\"text\": \"x\"}\n").expect("a script");
    let args = ["chat", "--model", "script:script.jsonl"];
    let mut terminal = Terminal::start(path, &args, folder, folder);
    let took = terminal.shows("/help for commands");
    terminal.end();
    took
}
