//! `gadgetry completions`: the completions for a shell.

use crate::args::{self, CompletionsArgs};
use crate::error::Error;
use crate::printer::Printer;

/// Runs the command.
pub(crate) fn run(args: &CompletionsArgs, printer: &mut Printer) -> Result<(), Error> {
    let mut command = args::command();
    clap_complete::generate(args.shell, &mut command, "gadgetry", printer.out());
    printer.flush()
}
