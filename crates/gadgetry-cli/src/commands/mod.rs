//! The verbs, one file each.

mod agent;
mod batch;
mod complete;
mod completions;
mod config;
pub(crate) mod continued;
mod demo;
mod doctor;
mod eval;
mod gadget;
mod init;
mod man;
#[cfg(feature = "mcp")]
mod mcp;
mod models;
mod parse;
#[cfg(feature = "restate")]
mod remote;
mod replay;
mod serve;
mod sessions;
mod skill;
#[cfg(feature = "restate")]
mod submit;
#[cfg(feature = "restate")]
mod worker;
mod write;

use gadgetry::proto::event::EVENTS_SCHEMA;
use gadgetry::proto::schema::json_message;

use crate::args::Verb;
use crate::error::Error;
use crate::invocation::{Invocation, help};
use crate::logging;
use crate::printer::Printer;

/// Does what was typed.
pub(crate) fn run(mut invocation: Invocation, printer: &mut Printer) -> Result<(), Error> {
    logging::start(invocation.verbose)?;
    let verb = invocation.verb.take();
    let (chosen, config) = (invocation.chosen.clone(), &invocation.config);
    match verb {
        None => Err(Error::Help(help(config))),
        Some(Verb::Parse(args)) if args.batch => batch::run(&args, printer),
        Some(Verb::Parse(args)) => parse::run(&args, printer),
        Some(Verb::Write(args)) => write::run(&args, printer),
        Some(Verb::Agent(args)) => agent::run(&args, &invocation, printer),
        #[cfg(feature = "chat")]
        Some(Verb::Chat(args)) => crate::chat::run(*args, invocation, printer),
        Some(Verb::Sessions(args)) => sessions::run(&args, printer),
        Some(Verb::Complete(args)) => complete::run(&args, printer),
        Some(Verb::Gadget(args)) => gadget::run(&args, config, printer),
        Some(Verb::Skill(typed)) => skill::run(typed, config, printer),
        Some(Verb::Models(args)) => models::run(&args, printer),
        Some(Verb::Doctor(args)) => doctor::run(&args, printer),
        Some(Verb::Eval(typed)) => eval::run(&typed, config, printer),
        Some(Verb::Serve(typed)) => serve::run(&typed, &config.models, printer),
        Some(Verb::Config(typed)) => config::run(chosen, typed, printer),
        Some(Verb::Init(args)) => init::run(&args, printer),
        Some(Verb::Completions(typed)) => completions::run(&typed, config, printer),
        Some(Verb::Man(args)) => man::run(&args, printer),
        #[cfg(feature = "mcp")]
        Some(Verb::Mcp(typed)) => mcp::run(chosen, typed, printer),
        Some(Verb::Replay(args)) => replay::run(&args, printer),
        Some(Verb::Events(args)) => {
            if args.schema {
                printer.text(EVENTS_SCHEMA);
            }
            Ok(())
        }
        #[cfg(feature = "restate")]
        Some(Verb::Worker(args)) => worker::run(&args, &config.declared, printer),
        #[cfg(feature = "restate")]
        Some(Verb::Submit(args)) => submit::run(&args, printer),
        #[cfg(feature = "restate")]
        Some(Verb::Remote(args)) => remote::run(&args, printer),
        Some(Verb::Demo(_)) => demo::run(printer),
    }
}

/// What is wrong with the JSON on one line: serde's words, with the column only.
fn json_problem(error: &serde_json::Error) -> String {
    let message = json_message(error);
    if error.column() == 0 {
        return message;
    }
    format!("{message} at column {}", error.column())
}

/// Reads the JSON object on one line. `Err` says what is wrong with it.
fn object<'a, T: serde::Deserialize<'a>>(json: &'a [u8], what: &str) -> Result<T, String> {
    // Without this check, an array would do: its items would be taken for the fields.
    if !json.starts_with(b"{") {
        return Err(format!("{what} is not a JSON object"));
    }
    serde_json::from_slice(json).map_err(|error| json_problem(&error))
}
