//! The progress line on a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// A spinner with the elapsed time and a message. Dropping it clears the line.
#[derive(Debug)]
pub(super) struct Spinner {
    bar: ProgressBar,
}

impl Spinner {
    /// Starts on stderr; `None` if that is not a terminal.
    pub(super) fn start() -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}").ok()?;
        let bar = ProgressBar::new_spinner()
            .with_style(style)
            .with_finish(ProgressFinish::AndClear);
        bar.enable_steady_tick(Duration::from_millis(100));
        Some(Self { bar })
    }

    /// Sets the message.
    pub(super) fn set_message(&self, words: String) {
        self.bar.set_message(words);
    }

    /// Takes the line away for a while, from anywhere.
    pub(super) fn pause(&self) -> Pause {
        Pause(self.bar.clone())
    }

    /// Does something to the terminal while the line is away.
    pub(super) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Takes the line of a spinner away while the user types.
#[derive(Debug)]
pub(super) struct Pause(ProgressBar);

impl Pause {
    /// Clears the line, which is not drawn until the end of the pause.
    pub(super) fn begin(&self) {
        const CLEAR: &[u8] = b"\r\x1b[2K";
        self.0.set_draw_target(ProgressDrawTarget::hidden());
        // A failure shows a line too much.
        let _ = io::stderr().write_all(CLEAR);
    }

    /// Does something to the terminal while the line is away.
    pub(super) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.suspend(work)
    }

    /// Draws the line again.
    pub(super) fn end(&self) {
        self.0.set_draw_target(ProgressDrawTarget::stderr());
    }
}
