//! `gadgetry agent`: a model, its gadgets, and the loop between them.

use std::fs::File;
use std::mem;
use std::sync::Arc;

use gadgetry::driver::Observer;
use gadgetry::log::LogWriter;
use gadgetry::presets::Logging;
use gadgetry::proto::event::{Event, FinishReason};
use gadgetry::proto::run::{Input, PlanError, Summary, Tools};
use gadgetry::proto::schema::Unterminated;
use gadgetry::proto::tags::CustomBlock;
use gadgetry::proto::time::Time;
use gadgetry::{Agent, AgentError, AgentHandle, CommandGadget, Model, command};

use crate::args::{AgentArgs, OnUnterminated, OutputLimit, ToolForm};
use crate::connect::{self, ModelOverrides};
use crate::error::Error;
use crate::interrupts::when_reader_goes;
use crate::log_file::InUse;
use crate::narrator::Narrator;
use crate::options::Blocks;
use crate::printer::Printer;
use crate::prompt::typed_or_piped;
use crate::run_agent::run_agent;
use crate::usage_totals::UsageTotals;
use crate::{catalog, log_file, logging};

/// Runs the command. All input is checked before anything is started or written.
pub(crate) fn run(args: &AgentArgs, printer: &mut Printer) -> Result<(), Error> {
    if args.model.quiet {
        printer.be_quiet();
    }
    let catalog = catalog::load(&args.model.data)?;
    let key = args.model.server.api_key_env.as_slice();
    let gadgets = command::load(&args.gadgets).map_err(Error::input)?;
    let policy = unterminated(args);
    let gadgets = gadgets.into_iter();
    let gadgets = gadgets.map(|it| it.without_env(key).unterminated(policy));
    let gadgets: Vec<CommandGadget> = gadgets.collect();
    let model = connect::model(
        &args.model.model,
        &ModelOverrides::of(&args.model),
        &catalog,
    )?;
    let inputs = connect::script(&args.model.model).into_iter();
    let in_use = InUse::by(inputs.chain([args.gadgets.as_path()]), &gadgets);
    let agent = agent(args, gadgets, model)?;
    let prompt = typed_or_piped(&args.prompt, printer)?;
    let run = agent.ask(prompt);
    let log = match &args.save {
        Some(path) => {
            let header = run.header().map_err(Error::input)?;
            Some(log_file::begin(path, &header, &in_use)?)
        }
        None => None,
    };
    let handle = run.handle();
    if args.events.is_some() {
        let handle = handle.clone();
        when_reader_goes(move || handle.cancel());
    } else {
        printer.spin();
    }
    let watch = Watch {
        printer: mem::take(printer),
        totals: UsageTotals::default(),
        events: args.events.is_some(),
        narrator: Narrator::of_gadgets(),
        log,
        handle,
        failed: None,
    };
    let finished = run_agent(run, args.timeout, watch)?;
    let (summary, watch) = (finished.summary, finished.observer);
    *printer = watch.printer;
    printer.sum_up(|| watch.totals.words());
    if let Some(error) = watch.failed {
        return Err(error);
    }
    if !watch.events && !summary.answer.is_empty() {
        let answer = summary.answer.trim_end_matches('\n');
        printer.text(answer);
        printer.text("\n");
    }
    if let Some((log, path)) = watch.log.zip(args.save.as_deref()) {
        log.finish().map_err(|error| {
            Error::Failed(format!(
                "{}: the log is incomplete: {error}",
                path.display()
            ))
        })?;
    }
    if finished.timed_out && summary.reason == FinishReason::Cancelled {
        return Err(Error::Failed("the run exceeded its --timeout".to_owned()));
    }
    verdict(&summary)
}

fn unterminated(args: &AgentArgs) -> Unterminated {
    match args.unterminated {
        OnUnterminated::Confirm => Unterminated::Confirm,
        OnUnterminated::Execute => Unterminated::Execute,
    }
}

/// The agent that the options describe.
fn agent(
    args: &AgentArgs,
    gadgets: Vec<CommandGadget>,
    model: Arc<dyn Model>,
) -> Result<Agent, Error> {
    let tools = match args.tools {
        ToolForm::Text => Tools::Text,
        ToolForm::Native => Tools::Native,
        ToolForm::Both => Tools::Both,
    };
    let blocks = Blocks::of_run(&args.format, &args.model.model)?;
    let max_concurrent = args
        .max_concurrent
        .map_or_else(room_for_processes, |limit| clamp(limit.get()));
    let mut agent = Agent::builder()
        .model(model)
        .gadgets(gadgets)
        .tools(tools)
        .unterminated(unterminated(args))
        .reasoning_tags(args.model.reasoning_tags.0.clone())
        .reasoning_open(args.model.reasoning_open)
        .markers(blocks.markers)
        .anchoring(blocks.anchoring)
        .max_concurrent(max_concurrent);
    agent = match args.output_limit {
        OutputLimit::Percent(percent) => agent.output_limit_percent(percent),
        OutputLimit::Off => agent.without_output_limit(),
    };
    agent = match connect::retry(&args.model) {
        Some(retry) => agent.retry(retry),
        None => agent.without_retry(),
    };
    if let Some(system) = &args.model.system {
        agent = agent.system(system);
    }
    if let Some(dollars) = args.budget {
        agent = agent.budget(dollars);
    }
    if let Some(limit) = args.max_iterations {
        agent = agent.max_iterations(clamp(limit.get()));
    }
    if let Some(limit) = args.max_gadgets_per_response {
        agent = agent.max_gadgets_per_reply(clamp(limit.get()));
    }
    if let Some(dialects) = &args.dialects {
        agent = agent.dialects(dialects.0.iter().copied());
    }
    if logging::is_on() {
        agent = agent.observer(Logging);
    }
    for tag in &args.tags {
        agent = agent.custom_block(CustomBlock::new(tag));
    }
    agent.build().map_err(|error| mistake(args, error))
}

/// A mistake in the options, in the words of the command line.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the others do not speak of methods"
)]
fn mistake(args: &AgentArgs, error: AgentError) -> Error {
    let model = &args.model.model;
    match error {
        AgentError::NoNativeTools { .. } => Error::input(format_args!(
            "{model} does not support native tool calls; omit --tools"
        )),
        AgentError::NoPrice { .. } => Error::input(format_args!(
            "--budget needs a model with a known price, and the price of {model} is unknown; `gadgetry models` lists known prices"
        )),
        AgentError::Gadget(error) => Error::at(args.gadgets.display(), error),
        AgentError::Plan(PlanError::Viewer(error)) => Error::at(
            args.gadgets.display(),
            format_args!("{error}; rename the gadget, or add --output-limit off"),
        ),
        error => Error::input(error),
    }
}

/// Programs at the same time for which the system has files to open, each with pipes of its own.
fn room_for_processes() -> u32 {
    const FILES_EACH: u64 = 5;
    const OURS: u64 = 64;
    #[cfg(unix)]
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let files = Some(512);
    let room = files.unwrap_or(u64::MAX).saturating_sub(OURS) / FILES_EACH;
    u32::try_from(room.clamp(1, 1000)).unwrap_or(1)
}

fn clamp(limit: usize) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}

/// Events to stdout or words to stderr, inputs to the log.
struct Watch {
    printer: Printer,
    events: bool,
    narrator: Narrator,
    totals: UsageTotals,
    log: Option<LogWriter<File>>,
    handle: AgentHandle,
    /// Why stdout cannot be written; then the run is stopped.
    failed: Option<Error>,
}

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        if !self.events {
            if let Some(words) = self.narrator.narrate(event) {
                self.printer.progress(&words);
            }
            self.totals.event(event);
            self.printer.spin_with(|| self.totals.words());
        } else if self.failed.is_none()
            && let Err(error) = self.printer.json_line(event)
        {
            self.failed = Some(error);
            self.handle.cancel();
        }
    }

    fn input(&mut self, time: Time, input: &Input) {
        if let Some(log) = &mut self.log {
            log.input(time, input);
        }
    }
}

/// Turns the outcome of the run into an exit code.
pub(crate) fn verdict(summary: &Summary) -> Result<(), Error> {
    let message = match summary.reason {
        FinishReason::Completed | FinishReason::TaskCompleted | FinishReason::Stopped => {
            return Ok(());
        }
        FinishReason::MaxIterations => {
            let plural = if summary.iterations == 1 { "" } else { "s" };
            format!(
                "stopped after {} iteration{plural} (--max-iterations)",
                summary.iterations
            )
        }
        FinishReason::Truncated => {
            "the last reply was cut off at the model's token limit".to_owned()
        }
        FinishReason::Withheld => match &summary.error {
            Some(refusal) => refusal.clone(),
            None => "the provider withheld the last reply".to_owned(),
        },
        FinishReason::ModelError => {
            let words = summary.error.as_deref().unwrap_or("no reason given");
            format!("model call failed: {words}")
        }
        FinishReason::Cancelled => "cancelled".to_owned(),
        FinishReason::BudgetExceeded => {
            format!("budget exceeded: {} US dollars spent", summary.known_cost)
        }
        FinishReason::GadgetError => {
            let words = summary.error.as_deref().unwrap_or("no reason given");
            format!("a gadget failed: {words}")
        }
        _ => format!("the run ended: {:?}", summary.reason),
    };
    Err(Error::Failed(message))
}
