//! The binary `gadgetry`: what is typed becomes calls of the library, what comes of them is printed.

mod args;
mod commands;
mod conduct;
mod error;
mod events;
mod input;
mod interrupts;
mod narrator;
mod options;
mod printer;
mod reader;
mod run_events;
mod schemas;
mod timeline;

use std::process::ExitCode;

use printer::Printer;

fn main() -> ExitCode {
    let mut printer = Printer::default();
    let done = args::typed().and_then(|args| commands::run(args, &mut printer));
    printer.close(done)
}
