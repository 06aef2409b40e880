//! The progress line on a terminal.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

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
