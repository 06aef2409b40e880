//! A folder with gadgets and a script, in which the binary runs.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use gadgetry::proto::event::EVENTS_SCHEMA;
use jsonschema::Validator;
use serde_json::Value;
use tempfile::TempDir;

use super::GADGETRY;

/// Longer than anything here takes; a test that waits so long has failed.
const FOREVER: Duration = Duration::from_mins(5);

/// How variables end that say something about models.
const ENDINGS: [&str; 5] = ["_KEY", "_TOKEN", "_BASE_URL", "_API_BASE", "OLLAMA_HOST"];

/// What the gadgets of all tests are. `Hang` and `Late` hold the pipe `alive` open in two processes that do not heed
/// SIGTERM.
const GADGETS: &str = r#"
[[gadget]]
name = "Echo"
description = "Says its parameters"
command = ["cat"]
parameters = { type = "object", properties = { say = { type = "string" } }, required = ["say"] }
[[gadget]]
name = "Fail"
description = "Fails"
command = ["sh", "-c", "echo 'no luck' >&2; exit 3"]
[[gadget]]
name = "Touch"
description = "Leaves a trace"
command = ["touch", "trace"]
[[gadget]]
name = "Left"
description = "Waits for Right"
command = ["sh", "-c", "touch left; until [ -e right ]; do sleep 0.01; done; echo met"]
timeout = "1m"
[[gadget]]
name = "Right"
description = "Waits for Left"
command = ["sh", "-c", "touch right; until [ -e left ]; do sleep 0.01; done; echo met"]
timeout = "1m"
[[gadget]]
name = "Hang"
description = "Does not end"
command = ["sh", "-c", "trap '' TERM; exec 9>alive; echo up >&9; sleep 1000 & wait"]
[[gadget]]
name = "Late"
description = "Does not end in time"
command = ["sh", "-c", "trap '' TERM; exec 9>alive; echo up >&9; sleep 1000 & wait"]
timeout = "3s"
"#;

pub(crate) struct Workshop {
    folder: TempDir,
}

impl Workshop {
    /// With these replies, one JSON object a line.
    pub(crate) fn new(script: &str) -> Self {
        let workshop = Self {
            folder: tempfile::tempdir().expect("a folder"),
        };
        workshop.write("gadgets.toml", GADGETS);
        workshop.write("script.jsonl", script);
        workshop
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    /// Makes a named pipe.
    pub(crate) fn pipe(&self, name: &str) {
        let made = Command::new("mkfifo").arg(self.path(name)).status();
        assert!(made.expect("mkfifo").success());
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The binary in this folder, with all its streams piped, nothing on stdin, and no keys.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.run(GADGETRY, args)
    }

    /// The same for any program.
    pub(crate) fn run(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        without_keys(&mut command);
        command
            .env("XDG_DATA_HOME", self.folder.path())
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// `gadgetry agent` with the prompt, model and gadgets of this folder, and these arguments besides.
    pub(crate) fn agent(&self, args: &[&str]) -> Command {
        let usual = [
            "agent",
            "Go!",
            "--model",
            "script:script.jsonl",
            "--gadgets",
            "gadgets.toml",
        ];
        self.command(&[&usual, args].concat())
    }

    /// The events of a run, and how it ended.
    pub(crate) fn events(&self, args: &[&str]) -> (Vec<Value>, Ended) {
        let ended = Ended::of(&mut self.agent(&[&["--events", "jsonl"], args].concat()));
        (events(&ended.stdout), ended)
    }

    /// Makes the pipe `alive`, and tells `up` when the first gadget has opened it, `gone` when no process has it open.
    pub(crate) fn watch_alive(&self) -> Alive {
        let path = self.path("alive");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        let (sender, receiver) = channel();
        thread::spawn(move || {
            // A program that is ended before it has said that it runs leaves nothing in the pipe.
            let (mut pipe, line) = loop {
                let mut pipe = BufReader::new(File::open(&path).expect("a pipe"));
                let mut line = String::new();
                pipe.read_line(&mut line).expect("a line");
                if !line.is_empty() {
                    break (pipe, line);
                }
            };
            // The test may be over.
            let _ = sender.send(line);
            pipe.read_to_string(&mut String::new()).expect("the end");
            let _ = sender.send("gone\n".to_owned());
        });
        Alive(receiver)
    }
}

/// Takes away what the environment and the user's configuration say about models.
pub(crate) fn without_keys(command: &mut Command) {
    without_config(command);
    without_keys_in(|variable| {
        command.env_remove(variable);
    });
}

/// Removes each variable of the environment that says something about models.
pub(crate) fn without_keys_in(mut remove: impl FnMut(&OsStr)) {
    for (variable, _) in env::vars_os() {
        let name = variable.to_string_lossy();
        if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
            remove(&variable);
        }
    }
}

/// Takes away the user's configuration.
pub(crate) fn without_config(command: &mut Command) {
    for (variable, _) in env::vars_os() {
        if variable.to_string_lossy().starts_with("GADGETRY_") {
            command.env_remove(&variable);
        }
    }
    // Its skills and commands would be found.
    command.env("HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/no-home"));
    command.env(
        "XDG_CONFIG_HOME",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/no-config"),
    );
}

/// What a process group says of itself.
pub(crate) struct Alive(Receiver<String>);

impl Alive {
    #[track_caller]
    pub(crate) fn up(&self) {
        assert_eq!(self.0.recv_timeout(FOREVER).as_deref(), Ok("up\n"));
    }

    /// Whether it has said that it runs, which is reported once.
    #[track_caller]
    pub(crate) fn is_up(&self) -> bool {
        match self.0.try_recv() {
            Ok(line) => line == "up\n",
            Err(_) => false,
        }
    }

    #[track_caller]
    pub(crate) fn gone(&self) {
        assert_eq!(self.0.recv_timeout(FOREVER).as_deref(), Ok("gone\n"));
    }
}

/// How a command ended.
#[derive(Debug, PartialEq)]
pub(crate) struct Ended {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Ended {
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::from(command.output().expect("the binary runs"))
    }

    pub(crate) fn wait(child: Child) -> Self {
        Self::from(child.wait_with_output().expect("the binary ends"))
    }

    #[track_caller]
    pub(crate) fn check(&self, stdout: &str, stderr: &str, code: i32) {
        assert_eq!(self.stdout, stdout, "stdout of {self:#?}");
        assert_eq!(self.stderr, stderr, "stderr of {self:#?}");
        assert_eq!(self.code, Some(code), "exit code of {self:#?}");
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        Self {
            stdout: text(output.stdout),
            stderr: without_generated_name(text(output.stderr)),
            code: output.status.code(),
        }
    }
}

/// Progress without its first line, if that is the random name of a session.
fn without_generated_name(stderr: String) -> String {
    const LENGTH: usize = 5;
    let rest = stderr
        .strip_prefix("session ")
        .and_then(|rest| rest.split_once('\n'));
    match rest {
        Some((name, rest)) if name.len() == LENGTH => rest.to_owned(),
        _ => stderr,
    }
}

/// The published schema.
static EVENT: LazyLock<Validator> = LazyLock::new(|| {
    let schema = serde_json::from_str(EVENTS_SCHEMA).expect("the schema is JSON");
    jsonschema::draft202012::new(&schema).expect("the schema is one")
});

/// The events on the lines. They fit the published schema, `seq` counts from 0, and time does not go back.
#[track_caller]
pub(crate) fn events(stdout: &str) -> Vec<Value> {
    let events: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let mut time = 0;
    for (event, seq) in events.iter().zip(0_u64..) {
        if let Err(error) = EVENT.validate(event) {
            panic!("{error}, in {event}");
        }
        assert_eq!(event["seq"], seq, "{event}");
        let now = event["timeMs"].as_u64().expect("a time");
        assert!(now >= time, "{event} comes after {time}");
        time = now;
    }
    events
}

/// The text with every number of milliseconds as `N`.
pub(crate) fn masked(text: &str) -> String {
    let mut pieces = text.split(" ms").peekable();
    let mut masked = String::new();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_some() {
            masked.push_str(piece.trim_end_matches(|c: char| c.is_ascii_digit()));
            masked.push_str("N ms");
        } else {
            masked.push_str(piece);
        }
    }
    masked
}

/// A reply of a script, from what the model writes.
pub(crate) fn reply(text: &str) -> String {
    format!("{}\n", serde_json::json!({ "text": text }))
}

/// The same to a request that contains these texts.
pub(crate) fn expecting(text: &str, contains: &[&str]) -> String {
    let expect = serde_json::json!({ "contains": contains });
    format!(
        "{}\n",
        serde_json::json!({ "text": text, "expect": expect })
    )
}

/// Sends a signal, such as `INT`.
pub(crate) fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", name, &pid]).status();
    assert!(sent.expect("kill").success());
}

/// A block with one argument `say`, or with none.
pub(crate) fn block(header: &str, say: &str) -> String {
    let argument = if say.is_empty() {
        String::new()
    } else {
        format!("!!!ARG:say\n{say}\n")
    };
    call(header, &argument)
}

/// A block with these arguments, each with its marker and a line break at the end.
pub(crate) fn call(header: &str, arguments: &str) -> String {
    format!("!!!GADGET_START:{header}\n{arguments}!!!GADGET_END\n")
}
