//! What the user says: typed, piped in, or both.

use std::io::{self, IsTerminal as _};

use crate::error::Error;
use crate::input::Input;
use crate::printer::Printer;

/// What was typed, or stdin if that is `-`.
pub(crate) fn typed_or_piped(typed: &str, printer: &mut Printer) -> Result<String, Error> {
    if typed == "-" {
        piped(printer)
    } else {
        Ok(typed.to_owned())
    }
}

/// What is piped into stdin, and behind it what was typed.
pub(crate) fn piped_and_typed(typed: &str, printer: &mut Printer) -> Result<String, Error> {
    if typed == "-" {
        return piped(printer);
    }
    if io::stdin().is_terminal() {
        return Ok(typed.to_owned());
    }
    let context = piped(printer)?;
    if context.is_empty() {
        Ok(typed.to_owned())
    } else {
        Ok(format!("{context}\n\n{typed}"))
    }
}

/// All of stdin without its last line break.
fn piped(printer: &mut Printer) -> Result<String, Error> {
    let mut text = String::new();
    Input::open("-".as_ref())?.texts(printer, |more, _| {
        text.push_str(more);
        Ok(())
    })?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
