//! The one road to stdout and stderr.

mod spinner;

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};
use std::mem;
use std::process::ExitCode;

use serde::Serialize;

use crate::error::Error;

use spinner::Spinner;

/// Bytes that are gathered before they are written, if nobody asks for them earlier.
const FULL: usize = 64 << 10;

/// Gathers what goes to stdout, and writes it in large pieces.
#[derive(Debug, Default)]
pub(crate) struct Printer {
    gathered: Vec<u8>,
    /// Whether progress is not told.
    quiet: bool,
    spinner: Option<Spinner>,
    /// Whether there was one: somebody watches.
    watched: bool,
    /// The beginning of a line of progress, while the spinner has the line on the terminal.
    begun: String,
}

impl Printer {
    /// Where the next output is appended.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.gathered
    }

    /// Writes what was gathered if it is much.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
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
        let write = || {
            let mut stdout = io::stdout().lock();
            stdout.write_all(&self.gathered)?;
            stdout.flush()
        };
        let written = match &self.spinner {
            Some(spinner) if io::stdout().is_terminal() => spinner.aside(write),
            _ => write(),
        };
        self.gathered.clear();
        Ok(written?)
    }

    /// From now on nothing is said about what goes on.
    pub(crate) fn be_quiet(&mut self) {
        self.quiet = true;
        self.spinner = None;
    }

    /// Shows that something goes on, if stderr is a terminal.
    pub(crate) fn spin(&mut self) {
        if !self.quiet {
            self.spinner = Spinner::start();
            self.watched = self.spinner.is_some();
        }
    }

    /// Shows these words beside the spinner, if it is there.
    pub(crate) fn spin_with(&self, words: impl FnOnce() -> String) {
        if let Some(spinner) = &self.spinner {
            spinner.tell(words());
        }
    }

    /// Shows it no longer.
    pub(crate) fn stop_spinning(&mut self) {
        if self.spinner.take().is_some() {
            let begun = mem::take(&mut self.begun);
            self.progress(&begun);
        }
    }

    /// Says in the end what it took, if somebody watched.
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
        serde_json::to_writer(&mut self.gathered, value).map_err(io::Error::from)?;
        self.gathered.push(b'\n');
        Ok(())
    }

    /// Writes words about what goes on to stderr, unless nobody wants them. If it is gone, there is nobody to tell.
    pub(crate) fn progress(&mut self, words: &str) {
        if self.quiet {
            return;
        }
        let Some(spinner) = &self.spinner else {
            let _ = io::stderr().write_all(harmless(words).as_bytes());
            return;
        };
        self.begun.push_str(words);
        if let Some(end) = self.begun.rfind('\n') {
            let lines: String = self.begun.drain(..=end).collect();
            let write = || io::stderr().write_all(harmless(&lines).as_bytes());
            let _ = spinner.aside(write);
        }
    }

    /// Whether somebody sees both streams on one terminal.
    pub(crate) fn shares_terminal(&self) -> bool {
        self.spinner.is_some() && io::stdout().is_terminal()
    }

    /// Adds text that a model or a gadget wrote to the output. A terminal is not at its command.
    pub(crate) fn text(&mut self, text: &str) {
        if io::stdout().is_terminal() {
            self.gathered.extend_from_slice(harmless(text).as_bytes());
        } else {
            self.gathered.extend_from_slice(text.as_bytes());
        }
    }

    /// Writes the rest, says what went wrong, and gives the exit code.
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
                tell(&message);
                ExitCode::FAILURE
            }
            Err(Error::Input(message)) => {
                tell(&message);
                ExitCode::from(2)
            }
        }
    }
}

/// `text` with its control characters written out, but for line breaks and tabs.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// One line on stderr. If that is gone, too, there is nobody to tell.
fn tell(message: &str) {
    let line = message.replace(['\n', '\r'], " ");
    let _ = writeln!(io::stderr(), "error: {}", harmless(&line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_not_commanded() {
        let check = |text: &str, expected: &str| assert_eq!(harmless(text), expected);
        check("a\tb\nü", "a\tb\nü");
        check("\u{1b}[2Jx\r\u{9b}", "\\u{1b}[2Jx\\u{d}\\u{9b}");
    }
}
