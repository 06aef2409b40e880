//! Writes to stdout and stderr; nothing else does.

mod held;
mod json;
mod prompter;
mod spinner;

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};
use std::mem;
use std::process::ExitCode;

use crate::error::Error;
use crate::lines::one_line;
use crate::logging;
use crate::pages::Row;
use gadgetry::proto::visible::{visible, visible_after};
use serde::Serialize;

use spinner::Spinner;

pub(crate) use prompter::Prompter;

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
        if is_terminal && held::is_asking() {
            return Ok(());
        }
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

    /// Sets the spinner's message from anywhere, if there is one.
    pub(crate) fn spinner_words(&self) -> impl Fn(String) + Send + Sync + 'static {
        let spinner = self.spinner.as_ref().map(Spinner::words);
        move |words| {
            if let Some(spinner) = &spinner {
                spinner(words);
            }
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
        let write = |words: &str| drop(io::stderr().write_all(words.as_bytes()));
        let Some(spinner) = &self.spinner else {
            return held::write_or_hold(&visible(words), write);
        };
        self.begun.push_str(words);
        if let Some(end) = self.begun.rfind('\n') {
            let lines: String = self.begun.drain(..=end).collect();
            held::write_or_hold(&visible(&lines), |words| spinner.aside(|| write(words)));
        }
    }

    /// The line that the user types after a question and lines that they must see to their end, also if progress is
    /// suppressed; `None` at the end of the input.
    pub(crate) fn ask_about(
        &mut self,
        head: &str,
        rows: Vec<Row>,
        question: &str,
    ) -> Option<String> {
        self.stop_spinning();
        prompter::ask_about(head, rows, question)
    }

    /// The same lines as output.
    pub(crate) fn rows(&mut self, head: &str, rows: &[Row]) {
        self.text(&format!(
            "{}\n{}",
            one_line(head),
            prompter::unwrapped(rows)
        ));
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
        held::end_all();
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

/// Whether a user is at a terminal.
pub(crate) fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Prints one line to stderr. A failure to write is ignored.
fn print_error(message: &str) {
    let _ = writeln!(io::stderr(), "error: {}", one_line(message));
}
