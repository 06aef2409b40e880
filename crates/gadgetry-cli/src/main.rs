//! The binary `gadgetry`: a command line for the library.

mod approvals;
mod args;
mod build_agent;
mod catalog;
#[cfg(feature = "chat")]
mod chat;
mod commands;
mod config;
mod connect;
mod data_dir;
mod error;
mod fetch;
mod follow;
mod input;
mod interrupts;
mod lines;
mod log_file;
mod logging;
mod mcp;
mod media;
mod narrator;
mod options;
mod printer;
mod prompt;
mod reader;
mod refusal;
mod run_agent;
mod schemas;
mod sessions;
mod skills;
mod sources;
mod timeline;
mod usage_totals;
mod workspaces;

use std::process::ExitCode;

use printer::Printer;

fn main() -> ExitCode {
    let mut printer = Printer::default();
    let done = args::typed(&mut printer).and_then(|args| commands::run(args, &mut printer));
    printer.close(done)
}
