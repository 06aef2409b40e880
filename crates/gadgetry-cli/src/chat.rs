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
mod changes;
mod commands;
mod conversation;
mod editor;
mod export;
mod files;
mod flight;
mod history_file;
mod injected;
mod markdown;
mod perform;
mod plain;
mod report;
mod requests;
mod screen;
mod state;
mod talk;
mod terminal;
mod text;

use crate::cli::ChatArgs;
use crate::error::Error;
use crate::invocation::Invocation;
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
    if terminal::is_capable() {
        Box::pin(conversation::run(args, invocation, printer)).await
    } else {
        Box::pin(plain::run(args, invocation, printer)).await
    }
}
