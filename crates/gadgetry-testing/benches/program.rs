//! The program that is distributed: its size, and how long it takes to start. `cargo xtask bench program` builds and strips it.
//!
//! `program PATH` measures whole processes from their start: `--help` to its end, `chat` in a terminal to its first prompt. A
//! program that is too large fails it; times are shown.

#![expect(clippy::print_stdout, reason = "a bench prints")]

use std::env;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

/// Bytes of the stripped program.
const SIZE: u64 = 25_000_000;
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
    println!("| | median | worst | limit | |\n|---|---|---|---|---|");
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

/// Milliseconds, sorted. The first time, which reads the program from the disk, does not count.
fn times(count: usize, once: impl Fn() -> Duration) -> Vec<f64> {
    once();
    let all = (0..count).map(|_| once().as_secs_f64() * 1000.0);
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    all
}

fn row(what: &str, sorted: &[f64], limit: f64) {
    let (median, worst) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    let verdict = if median <= limit { "PASS" } else { "missed" };
    println!("| {what} | {median:.1} | {worst:.1} | {limit} | {verdict} |");
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
    let size = PtySize {
        rows: 40,
        cols: 80,
        ..PtySize::default()
    };
    let pair = native_pty_system().openpty(size).expect("a terminal");
    let mut output = pair.master.try_clone_reader().expect("its output");
    let mut keys = pair.master.take_writer().expect("its keyboard");
    let mut command = CommandBuilder::new(path);
    command.args(["chat", "--model", "script:script.jsonl"]);
    command.cwd(folder);
    command.env("XDG_DATA_HOME", folder);
    command.env("XDG_CONFIG_HOME", folder);
    command.env("TERM", "xterm-256color");
    let began = Instant::now();
    let mut child = pair.slave.spawn_command(command).expect("it starts");
    drop(pair.slave);
    let mut shown = Vec::new();
    let mut answered = 0;
    let mut piece = [0; 4096];
    let has = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|it| it == part);
    while !has(&shown, b"/help for commands") {
        let read = output.read(&mut piece).unwrap_or(0);
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&shown));
        shown.extend_from_slice(&piece[..read]);
        // A terminal answers where its cursor is.
        if has(&shown[answered..], b"\x1b[6n") {
            answered = shown.len();
            keys.write_all(b"\x1b[1;1R").expect("a keyboard");
        }
    }
    let took = began.elapsed();
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    took
}
