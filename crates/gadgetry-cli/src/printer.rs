//! Writes to stdout and stderr; nothing else does.

mod json;
mod spinner;

use std::borrow::Cow;
use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write};
use std::mem;
use std::process::ExitCode;

use gadgetry::proto::visible::{visible, visible_after};
use serde::Serialize;
use tokio::sync::Mutex;

use crate::error::Error;
use crate::lines::one_line;
use crate::logging;

use spinner::{Pause, Spinner};

/// Bytes that are buffered before they are written, unless flushed earlier.
const FULL: usize = 64 << 10;

/// Buffers stdout, and writes it in large pieces.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    gathered: Vec<u8>,
    /// Whether what is gathered is JSON, line by line.
    is_json: bool,
    /// The last character that went to a terminal.
    shown: Option<char>,
    /// Whether progress is suppressed.
    quiet: bool,
    spinner: Option<Spinner>,
    /// Whether there was a spinner, so the user is watching.
    watched: bool,
    /// The beginning of a line of progress, while the spinner has the line on the terminal.
    begun: String,
}

impl Printer {
    /// Where the next text is appended.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.gathered
    }

    /// Where the next lines of JSON are appended. A command writes text or JSON, and not both.
    pub(crate) fn out_json(&mut self) -> &mut Vec<u8> {
        self.is_json = true;
        &mut self.gathered
    }

    /// Writes the buffer if it is large.
    pub(crate) fn flush_if_full(&mut self) -> Result<(), Error> {
        if self.gathered.len() < FULL {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Writes what was gathered. Do it before waiting for input, so that a reader sees everything there is.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let is_terminal = io::stdout().is_terminal();
        let output = if is_terminal {
            Cow::Owned(self.for_terminal())
        } else {
            Cow::Borrowed(&self.gathered)
        };
        let write = || {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&output)?;
            stdout.flush()
        };
        let written = match &self.spinner {
            Some(spinner) if is_terminal => spinner.aside(write),
            _ => write(),
        };
        self.gathered.clear();
        Ok(written?)
    }

    /// What is gathered, with nothing in it that commands the terminal or is not seen.
    fn for_terminal(&mut self) -> Vec<u8> {
        let text = String::from_utf8_lossy(&self.gathered);
        if self.is_json {
            return json::visible(&text).into_bytes();
        }
        let before = self.shown;
        self.shown = text.chars().next_back();
        visible_after(before, &text).into_owned().into_bytes()
    }

    /// Suppresses progress from now on.
    pub(crate) fn be_quiet(&mut self) {
        self.quiet = true;
        self.spinner = None;
    }

    /// Starts the spinner if stderr is a terminal.
    pub(crate) fn spin(&mut self) {
        // A spinner and a log would overwrite each other.
        if !self.quiet && !logging::is_on() {
            self.spinner = Spinner::start();
            self.watched = self.spinner.is_some();
        }
    }

    /// Sets the spinner's message, if there is one.
    pub(crate) fn spin_with(&self, words: impl FnOnce() -> String) {
        if let Some(spinner) = &self.spinner {
            spinner.set_message(words());
        }
    }

    /// Stops the spinner.
    pub(crate) fn stop_spinning(&mut self) {
        if self.spinner.take().is_some() {
            let begun = mem::take(&mut self.begun);
            self.progress(&begun);
        }
    }

    /// Prints a summary if there was a spinner.
    pub(crate) fn sum_up(&mut self, words: impl FnOnce() -> String) {
        self.stop_spinning();
        if mem::take(&mut self.watched) {
            self.progress(&format!("{}\n", words()));
        }
    }

    /// Writes a value as one line of JSON, at once.
    pub(crate) fn json_line(&mut self, value: &impl Serialize) -> Result<(), Error> {
        self.json(value)?;
        self.flush()
    }

    /// Gathers a value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Error> {
        let out = self.out_json();
        serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
        out.push(b'\n');
        Ok(())
    }

    /// Writes progress to stderr, unless suppressed. A failure to write is ignored.
    pub(crate) fn progress(&mut self, words: &str) {
        if self.quiet {
            return;
        }
        let Some(spinner) = &self.spinner else {
            let _ = io::stderr().write_all(visible(words).as_bytes());
            return;
        };
        self.begun.push_str(words);
        if let Some(end) = self.begun.rfind('\n') {
            let lines: String = self.begun.drain(..=end).collect();
            let write = || io::stderr().write_all(visible(&lines).as_bytes());
            let _ = spinner.aside(write);
        }
    }

    /// The line that the user types after a question; `None` at the end of the input.
    pub(crate) fn ask(&mut self, question: &str) -> Option<String> {
        self.stop_spinning();
        prompt_for_line(question)
    }

    /// The same, after lines that the user must see, also if progress is suppressed.
    #[cfg(feature = "mcp")]
    pub(crate) fn ask_about(&mut self, shown: &str, question: &str) -> Option<String> {
        self.stop_spinning();
        let _ = io::stderr().write_all(visible(shown).as_bytes());
        forget_typed();
        prompt_for_line(question)
    }

    /// Asks the user; `None` if no user is at a terminal.
    pub(crate) fn prompter(&self) -> Option<Prompter> {
        is_at_terminal().then(|| Prompter(self.spinner.as_ref().map(Spinner::pause)))
    }

    /// Whether both streams are shown on one terminal.
    pub(crate) fn shares_terminal(&self) -> bool {
        self.spinner.is_some() && io::stdout().is_terminal()
    }

    /// Adds text to the output.
    pub(crate) fn text(&mut self, text: &str) {
        self.gathered.extend_from_slice(text.as_bytes());
    }

    /// Writes the rest, reports the error, and returns the exit code.
    pub(crate) fn close(mut self, done: Result<(), Error>) -> ExitCode {
        let done = match done {
            Err(Error::Help(text)) => {
                self.gathered.extend_from_slice(text.as_bytes());
                Ok(())
            }
            done => done,
        };
        self.spinner = None;
        let closed = matches!(done, Err(Error::Closed));
        let written = if closed { Ok(()) } else { self.flush() };
        match done.and(written) {
            Ok(()) | Err(Error::Closed | Error::Help(_)) => ExitCode::SUCCESS,
            Err(Error::Failed(message)) => {
                print_error(&message);
                ExitCode::FAILURE
            }
            Err(Error::Input(message)) => {
                print_error(&message);
                ExitCode::from(2)
            }
        }
    }
}

/// One question at a time, because there is one stdin: an answer must not reach another question.
static TURN: Mutex<()> = Mutex::const_new(());

/// Asks the user at the terminal.
#[derive(Debug)]
pub(crate) struct Prompter(Option<Pause>);

impl Prompter {
    /// The line that the user types; `None` at the end of the input.
    ///
    /// Cancel safety: dropping the future leaves a thread that reads a line.
    pub(crate) async fn ask(&self, question: String) -> Option<String> {
        let _turn = TURN.lock().await;
        if let Some(pause) = &self.0 {
            pause.begin();
        }
        let read = tokio::task::spawn_blocking(move || prompt_for_line(&question));
        let answer = read.await.ok().flatten();
        if let Some(pause) = &self.0 {
            pause.end();
        }
        answer
    }

    /// The line that the user types about a call; `None` at the end of the input. What was typed before the question does not
    /// count.
    ///
    /// Cancel safety: dropping the future leaves a thread that reads a line.
    pub(crate) async fn approve(
        &self,
        head: &str,
        details: &[(Shade, String)],
        question: &str,
    ) -> Option<String> {
        let _turn = TURN.lock().await;
        let mut text = format!("  ? {}\n", one_line(head));
        let colours = colours();
        for (shade, line) in details {
            let (on, off) = if colours { shade.codes() } else { ("", "") };
            let line = visible(line);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  | {on}{line}{off}");
        }
        let _ = write!(text, "  {}\n  > ", one_line(question));
        if let Some(pause) = &self.0 {
            pause.begin();
        }
        let read = tokio::task::spawn_blocking(move || {
            let mut stderr = io::stderr();
            forget_typed();
            let _ = stderr.write_all(text.as_bytes());
            let _ = stderr.flush();
            let mut line = String::new();
            let bytes = io::stdin().read_line(&mut line).ok()?;
            (bytes > 0).then_some(line)
        });
        let answer = read.await.ok().flatten();
        if let Some(pause) = &self.0 {
            pause.end();
        }
        answer
    }
}

/// How a line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shade {
    Plain,
    Added,
    Removed,
}

impl Shade {
    /// What switches the colour on and off.
    fn codes(self) -> (&'static str, &'static str) {
        match self {
            Self::Plain => ("", ""),
            Self::Added => ("\x1b[32m", "\x1b[0m"),
            Self::Removed => ("\x1b[31m", "\x1b[0m"),
        }
    }
}

/// Whether stderr shows colours.
fn colours() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
    io::stderr().is_terminal() && !is_set("NO_COLOR") && !is_dumb
}

/// Discards what was typed and not read: it answers no question that was not there yet.
fn forget_typed() {
    #[cfg(unix)]
    {
        use rustix::termios::{QueueSelector, tcflush};
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }
}

/// Whether a user is at a terminal.
pub(crate) fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

fn prompt_for_line(question: &str) -> Option<String> {
    let mut stderr = io::stderr();
    let _ = write!(stderr, "  ? {}\n  > ", one_line(question));
    let _ = stderr.flush();
    let mut line = String::new();
    let bytes = io::stdin().read_line(&mut line).ok()?;
    (bytes > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Prints one line to stderr. A failure to write is ignored.
fn print_error(message: &str) {
    let _ = writeln!(io::stderr(), "error: {}", one_line(message));
}
