//! The prompt: typed, piped in, or both.

use std::time::Duration;

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

/// Time in which a pipe shows that there is text for a prompt that was typed.
const PATIENCE: Duration = Duration::from_secs(3);

/// The prompt that was typed, after the text on stdin if that is a pipe or a file. If it is `awaited`, it is read whatever it takes; otherwise
/// a pipe into which nothing comes, as programs that start others leave one open, is left with a note.
pub(crate) fn with_stdin(typed: &str, awaited: bool, printer: &Printer) -> Result<String, Error> {
    if typed == "-" {
        return piped(printer);
    }
    match source() {
        Source::None => Ok(typed.to_owned()),
        Source::Pipe if !awaited && !is_readable(PATIENCE) => {
            printer.progress(
                "stdin is not read: nothing came for 3 s; add - after the prompt to wait for it\n",
            );
            Ok(typed.to_owned())
        }
        Source::Pipe | Source::File if typed.is_empty() => piped(printer),
        Source::Pipe | Source::File => piped_and_typed(typed, printer),
    }
}

/// Kind of stdin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// A terminal or a device.
    None,
    Pipe,
    File,
}

#[cfg(unix)]
fn source() -> Source {
    use rustix::fs::{FileType, fstat};

    let mode = fstat(std::io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match mode {
        Ok(FileType::Fifo | FileType::Socket) => Source::Pipe,
        Ok(FileType::RegularFile) => Source::File,
        _ => Source::None,
    }
}

#[cfg(not(unix))]
fn source() -> Source {
    use std::io::IsTerminal as _;

    // Nothing says whether a pipe has text.
    if std::io::stdin().is_terminal() {
        Source::None
    } else {
        Source::File
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
pub(crate) fn is_piped_in() -> bool {
    source() == Source::Pipe && has_text(Duration::ZERO)
}

#[cfg(unix)]
fn has_text(wait: Duration) -> bool {
    polled(wait).contains(rustix::event::PollFlags::IN)
}

/// Returns whether stdin has text or is at its end, after this time at most.
#[cfg(unix)]
fn is_readable(wait: Duration) -> bool {
    !polled(wait).is_empty()
}

#[cfg(unix)]
fn polled(wait: Duration) -> rustix::event::PollFlags {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdin = std::io::stdin();
    let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
    let wait = Timespec::try_from(wait).unwrap_or_default();
    match poll(&mut polled, Some(&wait)) {
        Ok(_) => polled[0].revents(),
        Err(_) => PollFlags::empty(),
    }
}

#[cfg(not(unix))]
fn has_text(_: Duration) -> bool {
    false
}

#[cfg(not(unix))]
fn is_readable(_: Duration) -> bool {
    true
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
