//! `gadgetry parse`: text in, one JSON event a line out.

use crate::blocks::Options;
use crate::cli::ParseArgs;
use crate::error::Error;
use crate::input::{Input, Pieces};
use crate::printer::Printer;
use crate::reader::Reader;

pub(super) fn run(args: &ParseArgs, printer: &Printer) -> Result<(), Error> {
    let mut reader = Reader::new(&Options::try_from(args)?).map_err(Error::Input)?;
    let input = Input::open(&args.file)?;
    match args.chunk_size.map(Pieces::new) {
        None => input.texts(printer, |text, printer| {
            reader.push(text, &mut printer.out_json(), b'\n');
            printer.flush_if_full()
        })?,
        Some(mut pieces) => {
            input.texts(printer, |text, printer| {
                pieces.push(text, |piece| {
                    reader.push(piece, &mut printer.out_json(), b'\n');
                });
                printer.flush_if_full()
            })?;
            reader.push(pieces.rest(), &mut printer.out_json(), b'\n');
        }
    }
    reader.finish(&mut printer.out_json(), b'\n');
    Ok(())
}
