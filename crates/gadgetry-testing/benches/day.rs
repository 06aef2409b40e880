//! What piles up in a day of work, and how long the program takes with it. `cargo xtask bench day` builds it.
//!
//! `day PATH` makes the data in a temporary folder, with the program itself where it can: a folder of 200,000 files, a session of 1,000
//! turns, 1,000 sessions. It takes a few minutes. Times are shown, and fail nothing.

#![expect(clippy::print_stdout, reason = "a bench prints")]

mod support;

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use support::{Terminal, head, row, times};

/// Milliseconds of `sessions list`, until a session is open, and until a file is found.
const LIST: f64 = 50.0;
const OPEN: f64 = 200.0;
const FOUND: f64 = 50.0;
/// Megabytes of the program that has opened the session.
const MEMORY: f64 = 100.0;

const FOLDERS: usize = 400;
const FILES: usize = 500;
const TURNS: usize = 1000;
const SESSIONS: usize = 1000;

fn main() {
    // `cargo bench` alone passes an option and no path.
    let path = env::args().nth(1).filter(|it| !it.starts_with('-'));
    let Some(path) = path else {
        println!("`cargo xtask bench day` measures the program with the data of a day");
        return;
    };
    let program = fs::canonicalize(path).expect("a program");
    let folder = tempfile::tempdir().expect("a folder");
    let day = Day {
        program: &program,
        folder: folder.path(),
    };
    day.make();
    println!("\n### A day of work\n");
    head();
    day.files();
    day.sessions();
    day.session();
}

struct Day<'d> {
    program: &'d Path,
    folder: &'d Path,
}

impl Day<'_> {
    fn make(&self) {
        for name in ["files", "here", "long", "many"] {
            fs::create_dir(self.folder.join(name)).expect("a folder");
        }
        fs::write(self.folder.join("script.jsonl"), script()).expect("a script");
        for number in 0..FOLDERS {
            let folder = self.folder.join(format!("files/d{number:03}/inner"));
            fs::create_dir_all(&folder).expect("a folder");
            for file in 0..FILES {
                let text = format!("file {number} {file}\ncommon word\n");
                fs::write(folder.join(format!("f{file:03}.txt")), text).expect("a file");
            }
        }
        // A conversation in lines.
        let mut chat = self.command("long");
        let args = ["chat", "--session", "long"];
        let mut chat = chat.args(args).args(self.model()).stdin(Stdio::piped());
        chat = chat.stdout(Stdio::null()).stderr(Stdio::null());
        let mut chat = chat.spawn().expect("it starts");
        let mut lines = chat.stdin.take().expect("a pipe");
        for turn in 0..TURNS {
            writeln!(lines, "Message {turn} of a long conversation.").expect("it reads");
        }
        drop(lines);
        assert!(chat.wait().expect("it ends").success());
        for number in 0..SESSIONS {
            let name = format!("s{number}");
            let args = ["agent", "-p", "Say hi.", "--session", &name];
            let mut agent = self.command("many");
            let agent = agent.args(args).args(self.model()).stdin(Stdio::null());
            let ended = agent.output().expect("it starts");
            assert!(ended.status.success(), "{ended:?}");
        }
    }

    fn model(&self) -> [String; 2] {
        let script = self.folder.join("script.jsonl");
        ["--model".to_owned(), format!("script:{}", script.display())]
    }

    /// The program, with its data in this folder.
    fn command(&self, data: &str) -> Command {
        let mut command = Command::new(self.program);
        command.current_dir(self.folder.join("here"));
        command.env("XDG_DATA_HOME", self.folder.join(data));
        command.env("XDG_CONFIG_HOME", self.folder.join(data));
        command.env("TERM", "dumb");
        command
    }

    /// The time of a whole process.
    fn run(&self, data: &str, args: &[&str], folder: &str) -> Duration {
        let mut command = self.command(data);
        command
            .args(args)
            .current_dir(self.folder.join(folder))
            .stdin(Stdio::null());
        let began = Instant::now();
        let ended = command.output().expect("it starts");
        assert!(ended.status.success(), "{ended:?}");
        began.elapsed()
    }

    fn files(&self) {
        let search = ["gadget", "run", "Search", "--params"];
        let first = [&search[..], &[r#"{"pattern":"common word"}"#]].concat();
        let found = times(10, || self.run("here", &first, "files"));
        row(
            "ms of `Search` in 200,000 files, many of which match",
            &found,
            FOUND,
        );
        let folder = self.folder.join("files");
        let model = self.model();
        let args = ["chat", &model[0], &model[1]];
        for (what, keys, shown) in [
            (
                "in a folder of 200,000 files, at once after the start",
                "@d399/inner/f499",
                "f499.txt",
            ),
            ("the same by a part of its name", "@f0", "f00"),
        ] {
            let found = times(10, || {
                let mut chat = Terminal::start(self.program, &args, &folder, &folder);
                chat.shows("/help for commands");
                chat.types(keys);
                let took = chat.shows(shown);
                chat.end();
                took
            });
            row(
                &format!("ms to the first file after `{keys}`, {what}"),
                &found,
                FOUND,
            );
        }
    }

    fn sessions(&self) {
        let list = times(20, || self.run("many", &["sessions", "list"], "here"));
        row("ms of `sessions list` with 1,000 sessions", &list, LIST);
    }

    fn session(&self) {
        let (here, data) = (self.folder.join("here"), self.folder.join("long"));
        let mut peaks = Vec::new();
        let opened = times(10, || {
            let args = ["chat", "--continue", "long"];
            let mut chat = Terminal::start(self.program, &args, &here, &data);
            let took = chat.shows("/help for commands");
            peaks.push(chat.peak());
            chat.end();
            took
        });
        row(
            "ms until `chat --continue` shows a session of 1,000 turns",
            &opened,
            OPEN,
        );
        peaks.sort_by(f64::total_cmp);
        row("MB of it then", &peaks, MEMORY);
    }
}

/// A reply for each turn.
fn script() -> String {
    let reply = |turn: usize| {
        format!(
            "{{\"text\": \"This is answer {turn}, in a sentence or two. There is more to say.\"}}\n"
        )
    };
    (0..TURNS).map(reply).collect()
}
