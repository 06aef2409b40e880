//! llama.cpp's server with a real model, which `cargo xtask test servers` installs. Greedy decoding differs between builds and
//! processors, so tests look at the structure of replies, never at their words.

use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Each server uses a processor, so that two at a time are slower than one after the other.
static ONE: Mutex<()> = Mutex::new(());

/// A server that runs until it is dropped.
pub(crate) struct Llama {
    process: Child,
    arguments: Vec<String>,
    /// `http://127.0.0.1:PORT`
    pub(crate) address: String,
    _alone: MutexGuard<'static, ()>,
}

impl Llama {
    /// Starts one with a number of tokens in its slot, and more options of its launcher; `None` if it is not installed, which a line
    /// on standard error says.
    pub(crate) fn start(context: u32, options: &[&str]) -> Option<Self> {
        Self::start_with("smollm2", context, options)
    }

    /// The same with another model, by the name under which it is installed and served.
    pub(crate) fn start_with(model: &str, context: u32, options: &[&str]) -> Option<Self> {
        let mut arguments = installed("llama-cpp")?;
        arguments.extend(installed(model)?);
        let context = context.to_string();
        let own = ["--alias", model, "--context", &context];
        arguments.extend(own.iter().chain(options).map(ToString::to_string));
        let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let (process, address) = launch(&arguments, "0")?;
        Some(Self {
            process,
            arguments,
            address,
            _alone: alone,
        })
    }

    /// The base URL of its API.
    pub(crate) fn url(&self) -> String {
        format!("{}/v1", self.address)
    }

    /// Ends it at once, as a crash does, and starts it again at the same address.
    pub(crate) fn crash(&mut self) {
        self.end();
        let port = self.address.rsplit(':').next().expect("a port").to_owned();
        (self.process, self.address) =
            launch(&self.arguments, &port).expect("it was started before");
    }

    fn end(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        self.end();
    }
}

/// A process that serves, and its address. It ends with this one, because its standard input does. `None` if another user has
/// installed it with an interpreter of their own, which a line on standard error says.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn launch(arguments: &[String], port: &str) -> Option<(Child, String)> {
    let mut command = Command::new(&arguments[0]);
    command.args(&arguments[1..]).args(["--port", port]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = match command.stderr(Stdio::null()).spawn() {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            eprintln!("skipped: this user may not run {}", arguments[0]);
            return None;
        }
        started => started.expect("it starts"),
    };
    let mut address = String::new();
    let answer = process.stdout.take().expect("it is piped");
    let read = BufReader::new(answer).read_line(&mut address);
    assert!(read.is_ok_and(|it| it > 0), "llama.cpp does not start");
    Some((process, address.trim().to_owned()))
}

/// The command of something that is installed.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn installed(name: &str) -> Option<Vec<String>> {
    // Two folders above the test program, whatever the target folder is.
    let program = std::env::current_exe().expect("it runs");
    let target = program.ancestors().nth(3).expect("a target folder");
    let file = |end: &str| -> PathBuf { target.join("servers").join(format!("{name}.{end}")) };
    let words = fs::read_to_string(file("command")).ok();
    if words.is_none() {
        let why = fs::read_to_string(file("missing"));
        let why = why.unwrap_or_else(|_| "run cargo xtask test models".to_owned());
        eprintln!("skipped: {name} is not installed: {why}");
    }
    Some(words?.lines().map(str::to_owned).collect())
}
