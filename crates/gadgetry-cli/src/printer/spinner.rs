//! The line on a terminal that tells that something goes on.

use std::io::{self, IsTerminal as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// A turning mark, the time that has passed, and words. It vanishes with the value.
#[derive(Debug)]
pub(super) struct Spinner {
    bar: ProgressBar,
}

impl Spinner {
    /// Begins to turn on stderr; `None` if that is no terminal.
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

    /// Changes the words.
    pub(super) fn tell(&self, words: String) {
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
