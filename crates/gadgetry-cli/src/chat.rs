//! `gadgetry chat`: a conversation in the terminal.
//!
//! ```text
//! keys, run events, requests, time ─► Message ─► App::update ─► Effect ─► session, run, files
//!                                                   │
//!                                      App::view ─► Region::paint ─► the terminal
//! ```
//!
//! `state` and what it uses is pure; `conversation` waits for everything and carries out effects; `terminal` is the only
//! file that reads and writes the terminal.

mod again;
mod attention;
mod background;
mod changes;
mod clipboard;
mod commands;
mod conversation;
mod editor;
mod export;
mod files;
mod flight;
mod formatted;
mod history_file;
mod images;
mod injected;
mod listing;
mod markdown;
mod perform;
mod plain;
mod prompt;
mod report;
mod requests;
mod screen;
mod shell;
mod state;
mod submitting;
mod talk;
mod terminal;
mod text;

pub(crate) use formatted::formatted;

use crate::cli::{ChatArgs, Verb};
use crate::error::Error;
use crate::invocation::{self, Invocation};
use crate::printer::Printer;

/// Runs the command.
pub(crate) async fn run(
    args: ChatArgs,
    invocation: Invocation,
    printer: &Printer,
) -> Result<(), Error> {
    if args.options.model.quiet {
        printer.be_quiet();
    }
    if !terminal::is_capable() {
        return Box::pin(plain::run(args, invocation, printer)).await;
    }
    let mut next = Some((args, invocation));
    while let Some((args, invocation)) = next.take() {
        let words = Box::pin(conversation::run(args, invocation, printer)).await?;
        let Some(words) = words else {
            break;
        };
        let mut invocation = invocation::of_words(words, printer)?;
        if let Some(Verb::Chat(args)) = invocation.verb.take() {
            next = Some((*args, invocation));
        }
    }
    Ok(())
}
