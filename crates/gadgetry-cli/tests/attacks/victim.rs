//! Runs the program against a row's server, in a folder of its own.

use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use super::outcome::Outcome;
use super::row::{Row, Wire};
use super::server::Server;

/// The keys of the program; rows that need one write `{KEY}`.
pub(crate) const KEY: &str = "sk-SECRET0123456789abcdefghijkl";

/// A program that runs longer hangs.
const FOREVER: Duration = Duration::from_mins(10);

/// Private memory that the program may have, in KiB.
const MEMORY: &str = "262144";

/// Each call of these leaves a line in the file `ran`, but for those that only answer.
const GADGETS: &str = r#"
[[gadget]]
name = "Del"
description = "Deletes a path"
command = ["sh", "-c", "IFS= read -r line; printf 'Del %s\\n' \"$line\" >> ran; echo deleted"]
parameters = { type = "object", properties = { path = { type = "string" } }, required = ["path"] }
[[gadget]]
name = "Clean"
description = "Cleans up"
command = ["sh", "-c", "IFS= read -r line; printf 'Clean %s\\n' \"$line\" >> ran; echo clean"]
parameters = { type = "object", properties = { scope = { type = "string" } } }
[[gadget]]
name = "Count"
description = "Counts"
command = ["sh", "-c", "IFS= read -r line; printf 'Count %s\\n' \"$line\" >> ran; echo 3"]
parameters = { type = "object", properties = { n = { type = "integer" } }, required = ["n"] }
[[gadget]]
name = "Page"
description = "Reads the page"
command = ["cat", "page.txt"]
[[gadget]]
name = "Environment"
description = "Prints the environment"
command = ["env"]
"#;

pub(crate) fn run(row: &Row) -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(row.wire, &row.replies, &row.gets);
    prepare(row, folder.path());
    let before: Vec<_> = row
        .untouched
        .iter()
        .map(|name| read(&folder, name))
        .collect();
    let child = command(row, folder.path(), &server)
        .spawn()
        .expect("the program starts");
    let mut outcome = if row.types.is_empty() {
        wait(child, row.stdin.clone())
    } else {
        converse(child, &row.types)
    };
    outcome.ran = read(&folder, "ran").lines().map(str::to_owned).collect();
    outcome.log = read(&folder, "log.jsonl");
    outcome.requests = server.requests();
    let after = row.untouched.iter().map(|name| read(&folder, name));
    outcome.changed = (row.untouched.iter().zip(before).zip(after))
        .filter(|((_, before), after)| before != after)
        .map(|((name, _), _)| name.clone())
        .collect();
    outcome
}

fn prepare(row: &Row, folder: &Path) {
    fs::write(folder.join("gadgets.toml"), GADGETS).expect("a file");
    for (name, text) in &row.files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    for (name, target) in &row.links {
        symlink(target, folder.join(name)).expect("a link");
    }
}

fn command(row: &Row, folder: &Path, server: &Server) -> Command {
    let base = match row.wire {
        Wire::Chat | Wire::Completions => format!("http://{}/v1", server.address),
        Wire::Messages => format!("http://{}", server.address),
    };
    let args = match &row.command {
        Some(command) => command
            .iter()
            .map(|argument| {
                argument
                    .replace("{BASE}", &base)
                    .replace("{HOST}", &server.address.to_string())
            })
            .collect(),
        None => agent(row, &base),
    };
    let program = env!("CARGO_BIN_EXE_gadgetry");
    let limited = "ulimit -d \"$0\" 2> /dev/null; exec \"$@\"";
    let mut command = if row.terminal {
        let words: Vec<_> = args.iter().map(|argument| quoted(argument)).collect();
        let line = format!("{} {}", quoted(program), words.join(" "));
        let mut command = Command::new("script");
        command
            .args(["-qec", &line, "/dev/null"])
            .env("TERM", "xterm");
        command
    } else {
        let mut command = Command::new("sh");
        command.args(["-c", limited, MEMORY, program]).args(args);
        command
    };
    without_keys(&mut command);
    command
        .env("OPENAI_API_KEY", KEY)
        .env("ANTHROPIC_API_KEY", KEY)
        .env("XDG_DATA_HOME", folder)
        .env("XDG_CONFIG_HOME", folder)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Takes keys and addresses of the environment away.
pub(crate) fn without_keys(command: &mut Command) {
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if ["_KEY", "_TOKEN", "_BASE_URL", "_API_BASE", "OLLAMA_HOST"]
            .iter()
            .any(|end| name.ends_with(end))
            || name.to_ascii_lowercase().ends_with("_proxy")
            || name.starts_with("GADGETRY_")
        {
            command.env_remove(&variable);
        }
    }
}

/// The usual command line. The markers are the plain ones, or no text could hold a block.
fn agent(row: &Row, base: &str) -> Vec<String> {
    let model = match row.wire {
        Wire::Chat => "openai:gpt-4o",
        Wire::Completions => "completions:openai:gpt-4o",
        Wire::Messages => "anthropic:claude-sonnet-4-5",
    };
    let mut args: Vec<String> = ["agent", "Go!"].map(str::to_owned).into();
    let usual = [
        ("--model", model),
        ("--base-url", base),
        ("--gadgets", "gadgets.toml"),
        ("--save", "log.jsonl"),
        ("--max-iterations", "3"),
        ("--max-retries", "0"),
        ("--markers", "plain"),
    ];
    for (option, value) in usual {
        if !row.args.iter().any(|argument| argument == option) {
            args.extend([option, value].map(str::to_owned));
        }
    }
    args.extend(row.args.iter().cloned());
    args
}

fn quoted(argument: &str) -> String {
    format!("'{}'", argument.replace('\'', r"'\''"))
}

fn read(folder: &TempDir, name: &str) -> String {
    let bytes = fs::read(folder.path().join(name)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The same of a terminal whose user types these lines, each when the program waits for one.
fn converse(mut child: Child, lines: &[String]) -> Outcome {
    let mut keys = child.stdin.take().expect("a pipe");
    let mut screen = child.stdout.take().expect("a pipe");
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = screen.read(&mut piece) {
            let _ = sender.send(piece[..length].to_vec());
        }
    });
    let mut lines = lines.iter().map(String::as_str);
    let mut printed = Vec::new();
    let hung = loop {
        match receiver.recv_timeout(FOREVER) {
            Ok(piece) => printed.extend(piece),
            Err(RecvTimeoutError::Disconnected) => break false,
            Err(RecvTimeoutError::Timeout) => break true,
        }
        if printed.ends_with(b"\n  > ") {
            // The program may have ended.
            let _ = keys.write_all(lines.next().unwrap_or("n\n").as_bytes());
        }
    };
    if hung {
        let _ = child.kill();
    }
    Outcome {
        code: child.wait().expect("it ends").code(),
        stdout: String::from_utf8_lossy(&printed).into_owned(),
        hung,
        ..Outcome::default()
    }
}

/// Everything the program prints, and how it ends; killed if it does not.
fn wait(mut child: Child, stdin: String) -> Outcome {
    let mut input = child.stdin.take().expect("a pipe");
    thread::spawn(move || drop(input.write_all(stdin.as_bytes())));
    let drain = |pipe: Option<Box<dyn Read + Send>>| {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.expect("a pipe").read_to_end(&mut bytes);
            let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
        });
        receiver
    };
    let stdout = drain(child.stdout.take().map(|pipe| Box::new(pipe) as _));
    let stderr = drain(child.stderr.take().map(|pipe| Box::new(pipe) as _));
    // The pipes close when the program and everything that it has started are gone.
    let printed = stdout.recv_timeout(FOREVER);
    let hung = printed.is_err();
    if hung {
        let _ = child.kill();
    }
    Outcome {
        code: child.wait().expect("it ends").code(),
        stdout: printed.unwrap_or_default(),
        stderr: stderr.recv_timeout(FOREVER).unwrap_or_default(),
        hung,
        ..Outcome::default()
    }
}
