//! `gadgetry gadget run`: one call of one gadget, as in a run of an agent.

use std::io::{IsTerminal as _, stdin};
use std::sync::Arc;

use gadgetry::agent::{SingleCall, single_call};
use gadgetry::presets::Logging;
use gadgetry::proto::event::{CallAnswer, FinishReason};
use gadgetry::proto::prompt::Form;
use gadgetry::{AgentRun, DynGadget};
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::task::spawn_blocking;

use super::named::{named, own_words, toolbox};
use crate::cli::GadgetRunArgs;
use crate::config::Declared;
use crate::connect;
use crate::error::Error;
use crate::logging;
use crate::printer::{Printer, Prompter};
use crate::prompt::typed_or_piped;
use crate::run_agent::{run_agent, until_interrupted};

pub(crate) async fn run(
    args: &GadgetRunArgs,
    declared: &Declared,
    printer: &Printer,
) -> Result<(), Error> {
    let (source, name) = (&args.gadget.file.source, &args.gadget.name);
    // Its servers are connected until the end.
    let (toolbox, _servers) = toolbox(source, name, declared, printer).await?;
    let registered = named(&toolbox, &args.gadget.name)?;
    let name = registered.name();
    let parameters = match &args.params {
        Some(typed) => parameters(typed, printer).await?,
        None => answered(name, Form::new(registered.schema().clone()), printer).await?,
    };
    let gadget = toolbox.get(name).cloned();
    let gadget = gadget.ok_or_else(|| Error::input("the gadget no longer exists"))?;
    let finished = run_agent(agent(gadget, &parameters)?, None, SingleCall::default()).await?;
    let (summary, report) = (finished.summary, finished.observer);
    if args.json && report.answer.is_some() {
        printer.json(&report)?;
    }
    if summary.reason == FinishReason::Cancelled {
        return Err(Error::Failed("cancelled".to_owned()));
    }
    match report.answer {
        Some(CallAnswer::Result(_)) if args.json => Ok(()),
        Some(CallAnswer::Result(result)) => {
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
        Some(CallAnswer::Error(error)) => Err(Error::Failed(own_words(&error).to_owned())),
        None => {
            let words = summary.error.as_ref().map(|it| it.message.as_str());
            let words = words.unwrap_or("the gadget was not executed");
            Err(Error::Failed(words.to_owned()))
        }
    }
}

/// The parameters without an option: from stdin, or else from the user at the terminal.
async fn answered(name: &str, form: Form, printer: &Printer) -> Result<String, Error> {
    const NONE: &str = "{}";

    if form.question().is_none() {
        return Ok(NONE.to_owned());
    }
    if let Some(prompter) = printer.prompter() {
        printer.progress(&format!(
            "{name}: an empty answer leaves out what is optional, Ctrl-D cancels\n"
        ));
        let answers = async move { ask(form, &prompter).await };
        let answers = until_interrupted(answers, || true).await?.flatten();
        return answers.map(|it| it.to_string()).ok_or_else(|| {
            printer.progress("\n");
            Error::Failed("cancelled".to_owned())
        });
    }
    if stdin().is_terminal() {
        return Ok(NONE.to_owned());
    }
    let text = typed_or_read("-", printer).await?;
    if text.trim().is_empty() {
        return Ok(NONE.to_owned());
    }
    object(&text, "stdin")
}

/// Asks for every field of the form; `None` if the user gives no answer.
async fn ask(mut form: Form, prompter: &Prompter) -> Option<Value> {
    let mut problem = String::new();
    while let Some(question) = form.question() {
        let answer = prompter.ask(format!("{problem}{question}")).await?;
        problem = match form.answer(&answer) {
            Ok(()) => String::new(),
            Err(problem) => format!("invalid: {problem}; "),
        };
    }
    Some(form.into_value())
}

/// The JSON object that was typed or piped, as it was written: how its values are read is up to the run.
async fn parameters(typed: &str, printer: &Printer) -> Result<String, Error> {
    let place = if typed == "-" { "stdin" } else { "--params" };
    object(&typed_or_read(typed, printer).await?, place)
}

/// Reads stdin on a thread of its own, so that an interrupt ends the program meanwhile, and the MCP servers.
async fn typed_or_read(typed: &str, printer: &Printer) -> Result<String, Error> {
    let (typed, printer) = (typed.to_owned(), printer.clone());
    let read = spawn_blocking(move || typed_or_piped(&typed, &printer));
    read.await.map_err(|error| Error::bug(&error))?
}

fn object(text: &str, place: &str) -> Result<String, Error> {
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
    // The user has written the call.
    let agent = agent.without_approvals();
    let agent = if logging::is_on() {
        agent.observer(Logging)
    } else {
        agent
    };
    agent.ask("").map_err(Error::input)
}
