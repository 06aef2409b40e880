//! `gadgetry gadget run`: one call of one gadget, as in a run of an agent.

use std::sync::Arc;

use gadgetry::agent::{SingleCall, single_call};
use gadgetry::presets::Logging;
use gadgetry::proto::event::{Answer, FinishReason};
use gadgetry::{AgentRun, DynGadget};
use serde::de::IgnoredAny;

use super::{named, own_words};
use crate::args::GadgetRunArgs;
use crate::connect;
use crate::error::Error;
use crate::logging;
use crate::mcp;
use crate::printer::Printer;
use crate::prompt::typed_or_piped;
use crate::run_agent::run_agent;

pub(crate) fn run(args: &GadgetRunArgs, printer: &mut Printer) -> Result<(), Error> {
    let servers = mcp::connect(&args.gadget.file.source, printer)?;
    let toolbox = args.gadget.file.source.toolbox(servers.as_deref())?;
    let name = named(&toolbox, &args.gadget.name)?.name();
    let parameters = parameters(&args.params, printer)?;
    let gadget = toolbox.get(name).cloned();
    let gadget = gadget.ok_or_else(|| Error::input("the gadget no longer exists"))?;
    let finished = run_agent(agent(gadget, &parameters)?, None, SingleCall::default())?;
    let (summary, report) = (finished.summary, finished.observer);
    if args.json && report.answer.is_some() {
        printer.json(&report)?;
    }
    if summary.reason == FinishReason::Cancelled {
        return Err(Error::Failed("cancelled".to_owned()));
    }
    match report.answer {
        Some(Answer::Result(_)) if args.json => Ok(()),
        Some(Answer::Result(result)) => {
            if !report.media.is_empty() {
                let count = report.media.len();
                printer.progress(&format!("note: media in the result: {count}; see --json\n"));
            }
            if !result.is_empty() {
                printer.text(&result);
                printer.text("\n");
            }
            Ok(())
        }
        Some(Answer::Error(error)) => Err(Error::Failed(own_words(&error).to_owned())),
        None => {
            let words = summary.error.as_deref();
            let words = words.unwrap_or("the gadget was not executed");
            Err(Error::Failed(words.to_owned()))
        }
    }
}

/// The JSON object that was typed or piped, as it was written: how its values are read is up to the run.
fn parameters(typed: &str, printer: &mut Printer) -> Result<String, Error> {
    let place = if typed == "-" { "stdin" } else { "--params" };
    let text = typed_or_piped(typed, printer)?;
    let text = text.trim();
    if !text.starts_with('{') {
        return Err(Error::at(place, "the parameters are not a JSON object"));
    }
    let checked = serde_json::from_str::<IgnoredAny>(text);
    checked.map_err(|error| Error::at(place, error))?;
    Ok(text.to_owned())
}

/// A run whose model makes this call and nothing more.
fn agent(gadget: Arc<dyn DynGadget>, parameters: &str) -> Result<AgentRun<'static>, Error> {
    let agent = single_call(gadget, parameters, connect::random()).map_err(Error::input)?;
    let agent = if logging::is_on() {
        agent.observer(Logging)
    } else {
        agent
    };
    agent.ask("").map_err(Error::input)
}
