//! `gadgetry replay`: a saved run, played again without model or gadgets.

use std::io::BufReader;

use gadgetry::log::{LogError, replay};
use gadgetry::proto::event::Event;
use gadgetry_files as files;

use crate::cli::ReplayArgs;
use crate::error::Error;
use crate::input::unreadable;
use crate::printer::Printer;

pub(crate) fn run(args: &ReplayArgs, printer: &Printer) -> Result<(), Error> {
    let place = args.file.display();
    let file = files::open(&args.file).map_err(|error| unreadable(&place, &error))?;
    let mut failed = None;
    let mut print = |event: &Event| {
        if failed.is_none() {
            failed = printer.json_line(event).err();
        }
    };
    let summary = replay(BufReader::new(file), &mut print).map_err(|error| {
        if let LogError::Io(error) = error {
            unreadable(&place, &error)
        } else {
            Error::at(&place, error)
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    match summary? {
        Some(_) => Ok(()),
        None => Err(Error::Failed(format!(
            "{place}: the log ends before the run"
        ))),
    }
}
