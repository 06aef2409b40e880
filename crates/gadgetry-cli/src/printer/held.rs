//! Progress that waits while a question is open, so that no line of it is between a question and its answer.

use std::io::{self, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Progress that the terminal does not show yet.
#[derive(Debug)]
struct Held {
    /// Open questions.
    questions: usize,
    words: String,
    /// Whether the latest progress has not ended its line.
    is_mid_line: bool,
}

impl Held {
    fn note_end(&mut self, words: &str) {
        if let Some(last) = words.chars().next_back() {
            self.is_mid_line = last != '\n';
        }
    }
}

static HELD: Mutex<Held> = Mutex::new(Held {
    questions: 0,
    words: String::new(),
    is_mid_line: false,
});

fn lock() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds progress from now on, and ends its line.
pub(super) fn begin() {
    let mut held = lock();
    held.questions += 1;
    if std::mem::take(&mut held.is_mid_line) {
        let _ = io::stderr().write_all(b"\n");
    }
}

/// A question is closed. After the last one, what was held is written.
pub(super) fn end() {
    let mut held = lock();
    held.questions = held.questions.saturating_sub(1);
    if held.questions == 0 {
        write(&mut held);
    }
}

/// Ends all questions, because the program ends.
pub(super) fn end_all() {
    let mut held = lock();
    held.questions = 0;
    write(&mut held);
}

fn write(held: &mut Held) {
    let words = std::mem::take(&mut held.words);
    held.note_end(&words);
    // A failure shows less progress.
    let _ = io::stderr().write_all(words.as_bytes());
}

/// Returns whether a question is open.
pub(super) fn is_asking() -> bool {
    lock().questions > 0
}

/// Writes words now with `write`, or once no question is open.
pub(super) fn write_or_hold(words: &str, write: impl FnOnce(&str)) {
    // No question opens between the look and the write.
    let mut held = lock();
    if held.questions > 0 {
        held.words.push_str(words);
    } else {
        held.note_end(words);
        write(words);
    }
}
