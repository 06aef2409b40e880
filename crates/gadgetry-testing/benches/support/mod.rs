//! Rows of a table, and the program in a terminal.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};

/// Milliseconds, sorted. The first time, which reads the program from the disk, does not count.
pub(crate) fn times(count: usize, mut once: impl FnMut() -> Duration) -> Vec<f64> {
    once();
    let all = (0..count).map(|_| once().as_secs_f64() * 1000.0);
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    all
}

pub(crate) fn head() {
    println!("| | median | worst | limit | |\n|---|---|---|---|---|");
}

pub(crate) fn row(what: &str, sorted: &[f64], limit: f64) {
    let (median, worst) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    let verdict = if median <= limit { "PASS" } else { "missed" };
    println!("| {what} | {median:.1} | {worst:.1} | {limit} | {verdict} |");
}

/// The program in a terminal.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    output: Box<dyn Read + Send>,
    keys: Box<dyn Write + Send>,
    shown: Vec<u8>,
    answered: usize,
    began: Instant,
}

impl Terminal {
    /// Starts it in a folder, with its data and its configuration in `data`.
    pub(crate) fn start(program: &Path, args: &[&str], folder: &Path, data: &Path) -> Self {
        let size = PtySize {
            rows: 40,
            cols: 80,
            ..PtySize::default()
        };
        let pair = native_pty_system().openpty(size).expect("a terminal");
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.cwd(folder);
        command.env("XDG_DATA_HOME", data);
        command.env("XDG_CONFIG_HOME", data);
        command.env("TERM", "xterm-256color");
        let output = pair.master.try_clone_reader().expect("its output");
        let keys = pair.master.take_writer().expect("its keyboard");
        let began = Instant::now();
        let child = pair.slave.spawn_command(command).expect("it starts");
        Self {
            child,
            output,
            keys,
            shown: Vec::new(),
            answered: 0,
            began,
        }
    }

    /// The time since its start, or since the keys before, when it shows this text.
    pub(crate) fn shows(&mut self, text: &str) -> Duration {
        let has = |text: &[u8], part: &[u8]| text.windows(part.len()).any(|it| it == part);
        let mut piece = [0; 4096];
        while !has(&self.shown, text.as_bytes()) {
            let read = self.output.read(&mut piece).unwrap_or(0);
            assert_ne!(read, 0, "{}", String::from_utf8_lossy(&self.shown));
            self.shown.extend_from_slice(&piece[..read]);
            // A terminal answers where its cursor is.
            if has(&self.shown[self.answered..], b"\x1b[6n") {
                self.answered = self.shown.len();
                self.keys.write_all(b"\x1b[1;1R").expect("a keyboard");
            }
        }
        self.began.elapsed()
    }

    /// Presses keys. What was shown before does not count any more.
    #[allow(dead_code, reason = "not all benches type")]
    pub(crate) fn types(&mut self, keys: &str) {
        self.shown.clear();
        self.answered = 0;
        self.began = Instant::now();
        self.keys.write_all(keys.as_bytes()).expect("a keyboard");
    }

    /// The most memory that it had, in MB.
    #[allow(dead_code, reason = "not all benches measure it")]
    pub(crate) fn peak(&self) -> f64 {
        let id = self.child.process_id().expect("it runs");
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
        let kilo = line.and_then(|it| it.split_whitespace().next());
        kilo.and_then(|it| it.parse::<f64>().ok())
            .unwrap_or_default()
            / 1000.0
    }

    pub(crate) fn end(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}
