//! The prompt: typed, piped in, or both.

use gadgetry_files as files;

use crate::error::Error;
use crate::input::{Input, unreadable};
use crate::printer::Printer;

/// Bytes of a prompt; no model takes as many.
const LIMIT: usize = 16 << 20;

/// Returns the typed text, or stdin if that is `-`.
pub(crate) fn typed_or_piped(typed: &str, printer: &Printer) -> Result<String, Error> {
    if typed == "-" {
        piped(printer)
    } else {
        Ok(typed.to_owned())
    }
}

/// The text on stdin, and after it what was typed.
pub(crate) fn piped_and_typed(typed: &str, printer: &Printer) -> Result<String, Error> {
    let context = piped(printer)?;
    if context.is_empty() {
        Ok(typed.to_owned())
    } else {
        Ok(format!("{context}\n\n{typed}"))
    }
}

/// Refuses a prompt without text, which no model has an answer to.
pub(crate) fn not_empty(prompt: String) -> Result<String, Error> {
    if prompt.trim().is_empty() {
        return Err(Error::input(
            "the prompt is empty: write one, or pipe a text into stdin",
        ));
    }
    Ok(prompt)
}

/// Returns whether a pipe on stdin holds text now. It may come later, too: this is for a note, and decides nothing.
#[cfg(unix)]
pub(crate) fn is_piped_in() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{FileType, fstat};

    let stdin = std::io::stdin();
    let mode = fstat(&stdin).map(|stat| FileType::from_raw_mode(stat.st_mode));
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    mode == Ok(FileType::Fifo)
        && poll(&mut polled, Some(&at_once)).is_ok()
        && polled[0].revents().contains(PollFlags::IN)
}

#[cfg(not(unix))]
pub(crate) fn is_piped_in() -> bool {
    false
}

/// All of stdin without its last line break.
fn piped(printer: &Printer) -> Result<String, Error> {
    let mut text = String::new();
    Input::open("-".as_ref())?.texts(printer, |more, _| {
        text.push_str(more);
        if text.len() > LIMIT {
            return Err(unreadable("stdin", &files::too_large(LIMIT as u64)));
        }
        Ok(())
    })?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
