//! Writes to stdout and stderr; nothing else does.

mod held;
mod json;
mod prompter;
mod spinner;

use std::io::{self, IsTerminal as _, Write};
use std::mem;
use std::ops::{Deref, DerefMut};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::error::Error;
use crate::lines::one_line;
use crate::logging;
use crate::pages::Row;
use gadgetry::proto::visible::{visible, visible_after};
use serde::Serialize;
use tokio::task::block_in_place;

use prompter::columns_of;
use spinner::{Pause, Spinner};

pub(crate) use prompter::Prompter;

/// Bytes that are buffered before they are written, unless flushed earlier.
const FULL: usize = 64 << 10;

/// Bytes that a pipe which is ready takes without waiting: POSIX demands that many. A line of events is shorter, usually, and
/// [`block_in_place`] would take longer than to write it.
const PIECE: usize = 512;

/// A handle of stdout and stderr. Clones share the buffer, the order of what is written, and the spinner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Printer(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Held during a write to stdout, so that output is written in the order in which it was gathered. It is locked before
    /// `state`.
    turn: Mutex<()>,
    /// Never locked while something is written to stdout, which may take forever.
    state: Mutex<State>,
}

/// Pending output, and how it is shown.
#[derive(Debug, Default)]
struct State {
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

/// The end of the output, where more is appended. No other handle prints meanwhile.
pub(crate) struct Out<'p>(MutexGuard<'p, State>);

impl Deref for Out<'_> {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0.gathered
    }
}

impl DerefMut for Out<'_> {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0.gathered
    }
}

impl Printer {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a writer that appends text.
    pub(crate) fn out(&self) -> Out<'_> {
        Out(self.state())
    }

    /// Returns a writer that appends lines of JSON. A command writes text or JSON, and not both.
    pub(crate) fn out_json(&self) -> Out<'_> {
        let mut state = self.state();
        state.is_json = true;
        Out(state)
    }

    /// Writes the buffer if it is large.
    pub(crate) fn flush_if_full(&self) -> Result<(), Error> {
        if self.out().len() < FULL {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Writes what was gathered. Do it before waiting for input, so that a reader sees everything there is.
    ///
    /// It waits for a slow reader. Other tasks continue meanwhile, also those of this thread.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        if self.out().is_empty() {
            return Ok(());
        }
        if let Ok(_turn) = self.0.turn.try_lock()
            && self.out().len() <= PIECE
            && is_ready()
        {
            return self.write_gathered();
        }
        block_in_place(|| {
            let _turn = self.0.turn.lock().unwrap_or_else(PoisonError::into_inner);
            self.write_gathered()
        })
    }

    /// Writes what was gathered, in the turn of the caller.
    fn write_gathered(&self) -> Result<(), Error> {
        let is_terminal = io::stdout().is_terminal();
        let mut state = self.state();
        if state.gathered.is_empty() || (is_terminal && held::is_asking()) {
            return Ok(());
        }
        let mut output = mem::take(&mut state.gathered);
        if is_terminal {
            output = state.for_terminal(&output);
        }
        let pause = state.spinner.as_ref().map(Spinner::pause);
        drop(state);
        let written = write(&output, pause.filter(|_| is_terminal));
        output.clear();
        let mut state = self.state();
        if state.gathered.is_empty() {
            // The room is used again.
            state.gathered = output;
        }
        Ok(written?)
    }

    /// Writes lines to the terminal as they are, after what was gathered. The caller has made sure that they command it nothing but styles.
    pub(crate) fn styled(&self, lines: &str) -> Result<(), Error> {
        self.flush()?;
        block_in_place(|| {
            let _turn = self.0.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let pause = self.state().spinner.as_ref().map(Spinner::pause);
            Ok(write(lines.as_bytes(), pause)?)
        })
    }

    /// Suppresses progress from now on.
    pub(crate) fn be_quiet(&self) {
        let mut state = self.state();
        state.quiet = true;
        state.spinner = None;
    }

    /// Starts the spinner if stderr is a terminal.
    pub(crate) fn spin(&self) {
        let mut state = self.state();
        // A spinner and a log would overwrite each other.
        if !state.quiet && !logging::is_on() {
            state.spinner = Spinner::start();
            state.watched = state.spinner.is_some();
        }
    }

    /// Sets the spinner's message, if there is one.
    pub(crate) fn spin_with(&self, words: impl FnOnce() -> String) {
        if let Some(spinner) = &self.state().spinner {
            spinner.set_message(words());
        }
    }

    /// Stops the spinner.
    pub(crate) fn stop_spinning(&self) {
        self.state().stop_spinning();
    }

    /// Prints a summary if there was a spinner.
    pub(crate) fn sum_up(&self, words: impl FnOnce() -> String) {
        let mut state = self.state();
        state.stop_spinning();
        if mem::take(&mut state.watched) {
            state.progress(&format!("{}\n", words()));
        }
    }

    /// Writes a value as one line of JSON, at once.
    pub(crate) fn json_line(&self, value: &impl Serialize) -> Result<(), Error> {
        self.json(value)?;
        self.flush()
    }

    /// Gathers a value as one line of JSON.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Error> {
        let mut out = self.out_json();
        serde_json::to_writer(&mut *out, value).map_err(io::Error::from)?;
        out.push(b'\n');
        Ok(())
    }

    /// Writes progress to stderr, unless suppressed. A failure to write is ignored.
    pub(crate) fn progress(&self, words: &str) {
        self.state().progress(words);
    }

    /// The line that the user types after a question and lines that they must see to their end, also if progress is
    /// suppressed; `None` at the end of the input.
    pub(crate) fn ask_about(&self, head: &str, rows: Vec<Row>, question: &str) -> Option<String> {
        self.stop_spinning();
        prompter::ask_about(head, rows, question)
    }

    /// The same lines as output.
    pub(crate) fn rows(&self, head: &str, rows: &[Row]) {
        self.text(&format!(
            "{}\n{}",
            one_line(head),
            prompter::unwrapped(rows)
        ));
    }

    /// Asks the user; `None` if no user is at a terminal.
    pub(crate) fn prompter(&self) -> Option<Prompter> {
        is_at_terminal().then(|| Prompter(self.state().spinner.as_ref().map(Spinner::pause)))
    }

    /// Returns whether both streams are shown on one terminal.
    pub(crate) fn shares_terminal(&self) -> bool {
        self.state().spinner.is_some() && io::stdout().is_terminal()
    }

    /// Adds text to the output.
    pub(crate) fn text(&self, text: &str) {
        self.out().extend_from_slice(text.as_bytes());
    }

    /// Writes the rest, reports the error, and returns the exit code.
    pub(crate) fn close(self, done: Result<(), Error>) -> ExitCode {
        let done = match done {
            Err(Error::Help(text)) => {
                self.text(&text);
                Ok(())
            }
            done => done,
        };
        // What was dropped while it writes waits for a reader, perhaps forever, and has the spinner.
        let is_stuck = matches!(self.0.turn.try_lock(), Err(TryLockError::WouldBlock));
        if !is_stuck {
            self.state().spinner = None;
        }
        held::end_all();
        let closed = is_stuck || matches!(done, Err(Error::Closed));
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
            Err(Error::Denied(message)) => {
                print_error(&message);
                ExitCode::from(3)
            }
        }
    }
}

impl State {
    /// Text or JSON with nothing in it that commands the terminal or is not seen.
    fn for_terminal(&mut self, output: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(output);
        if self.is_json {
            return json::visible(&text).into_bytes();
        }
        let before = self.shown;
        self.shown = text.chars().next_back();
        visible_after(before, &text).into_owned().into_bytes()
    }

    fn stop_spinning(&mut self) {
        if self.spinner.take().is_some() {
            let begun = mem::take(&mut self.begun);
            self.progress(&begun);
        }
    }

    fn progress(&mut self, words: &str) {
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
            let rows = prompter::rows(&visible(&lines));
            held::write_or_hold(&rows, |words| spinner.aside(|| write(words)));
        }
    }
}

/// Writes to stdout, aside from what spins in the terminal.
fn write(output: &[u8], pause: Option<Pause>) -> io::Result<()> {
    let write = || {
        let mut stdout = io::stdout().lock();
        stdout.write_all(output)?;
        stdout.flush()
    };
    match pause {
        Some(pause) => pause.aside(write),
        None => write(),
    }
}

/// Returns whether stdout takes [`PIECE`] bytes without waiting for a reader.
#[cfg(unix)]
fn is_ready() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut streams = [PollFd::new(&stdout, PollFlags::OUT)];
    let at_once = Timespec::default();
    let ready = poll(&mut streams, Some(&at_once));
    ready.is_ok_and(|ready| ready == 1) && streams[0].revents() == PollFlags::OUT
}

#[cfg(not(unix))]
fn is_ready() -> bool {
    false
}

/// Columns of the terminal that stdout is; `None` if they are unknown, or it is not a terminal.
pub(crate) fn columns() -> Option<usize> {
    columns_of(io::stdout())
}

/// Returns the columns of the terminal that stdout is, if it shows styles.
pub(crate) fn columns_with_styles() -> Option<usize> {
    let is_terminal = io::stdout().is_terminal();
    columns().filter(|_| is_terminal && !prompter::is_dumb())
}

/// Returns whether a user is at a terminal.
pub(crate) fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Prints one line to stderr. A failure to write is ignored.
fn print_error(message: &str) {
    let _ = writeln!(io::stderr(), "error: {}", one_line(message));
}
