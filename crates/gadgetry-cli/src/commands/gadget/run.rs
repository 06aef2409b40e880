//! `gadgetry gadget run`: one call of one gadget, as in a run of an agent.

use std::sync::Arc;

use gadgetry::driver::Observer;
use gadgetry::presets::Logging;
use gadgetry::proto::block::Markers;
use gadgetry::proto::event::{Answer, Event, EventKind, FinishReason};
use gadgetry::proto::message::Media;
use gadgetry::{Agent, AgentRun, DynGadget, ScriptedModel};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::{named, own_words, toolbox};
use crate::args::GadgetRunArgs;
use crate::connect;
use crate::error::Error;
use crate::logging;
use crate::printer::Printer;
use crate::prompt::typed_or_piped;
use crate::run_agent::run_agent;

pub(crate) fn run(args: &GadgetRunArgs, printer: &mut Printer) -> Result<(), Error> {
    let toolbox = toolbox(&args.gadget.file.gadgets)?;
    let name = named(&toolbox, &args.gadget.name)?.name();
    let parameters = parameters(&args.params, printer)?;
    let gadget = toolbox.get(name).cloned();
    let gadget = gadget.ok_or_else(|| Error::input("the gadget no longer exists"))?;
    let finished = run_agent(agent(gadget, &parameters)?, None, Report::default())?;
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
    // No text of the parameters can be one of these.
    let markers = Markers::nonce(connect::random());
    let (start, end, name) = (markers.start(), markers.end(), &gadget.spec().name);
    let block = format!("{start}{name}:call\n{parameters}\n{end}\n");
    let script = json!({ "text": block }).to_string();
    let model: ScriptedModel = script.parse().map_err(Error::input)?;
    let mut agent = Agent::builder()
        .model(model)
        .gadget(gadget)
        .markers(markers)
        .max_iterations(1)
        .without_retry()
        .without_output_limit();
    if logging::is_on() {
        agent = agent.observer(Logging);
    }
    agent.ask("").map_err(Error::input)
}

/// What the call gave.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    gadget_name: String,
    /// What the gadget got, with defaults; absent if it was not executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Arc<Value>>,
    #[serde(flatten)]
    answer: Option<Answer>,
    duration_ms: u64,
    /// US dollars.
    cost: f64,
    media: Vec<Media>,
    completes_run: bool,
}

impl Observer for Report {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others say nothing about the call"
    )]
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::GadgetStart { parameters, .. } => {
                self.parameters = Some(Arc::clone(parameters));
            }
            EventKind::GadgetResult {
                gadget_name,
                answer,
                duration_ms,
                cost,
                media,
                completes_run,
                ..
            } => {
                self.gadget_name.clone_from(gadget_name);
                self.answer = Some(answer.clone());
                self.duration_ms = *duration_ms;
                self.cost += cost;
                self.media.clone_from(media);
                self.completes_run = *completes_run;
            }
            EventKind::GadgetCost { cost, .. } => self.cost += cost,
            _ => {}
        }
    }
}
