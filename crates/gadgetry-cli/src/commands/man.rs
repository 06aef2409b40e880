//! `gadgetry man`: manual pages.

use std::fs;

use clap_mangen::{Man, generate_to};

use crate::cli::{self, ManArgs};
use crate::error::Error;
use crate::printer::Printer;

/// Runs the command.
pub(crate) fn run(args: &ManArgs, printer: &Printer) -> Result<(), Error> {
    let command = cli::command();
    let Some(folder) = &args.folder else {
        Man::new(command).render(&mut *printer.out())?;
        return printer.flush();
    };
    if folder.exists() && !folder.is_dir() {
        return Err(Error::input(format_args!(
            "cannot write to {}: it is not a folder",
            folder.display()
        )));
    }
    let written = fs::create_dir_all(folder).and_then(|()| generate_to(command, folder));
    written.map_err(|error| {
        Error::input(format_args!(
            "cannot write to {}: {error}",
            folder.display()
        ))
    })
}
