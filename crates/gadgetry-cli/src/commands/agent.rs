//! `gadgetry agent`: a model, its gadgets, and the loop between them.

use std::fs::File;
use std::mem;
use std::path::Path;

use gadgetry::driver::Observer;
use gadgetry::log::{Header, LogWriter};
use gadgetry::proto::convo::compaction::Compaction;
use gadgetry::proto::event::{Event, FinishReason};
use gadgetry::proto::message::{Message, Role};
use gadgetry::proto::run::{Command, Input, Summary, Tools};
use gadgetry::proto::time::Time;
use gadgetry::proto::usage::Price;
use gadgetry::{Model, Toolbox, command};
use tokio::sync::mpsc;

use crate::args::{AgentArgs, ToolForm};
use crate::conduct::{commands, conduct};
use crate::connect::{self, Wishes};
use crate::error::Error;
use crate::interrupts::when_reader_goes;
use crate::narrator::Narrator;
use crate::printer::Printer;
use crate::prompt::typed_or_piped;
use crate::tally::Tally;
use crate::{catalog, run_events};

/// Everything that can be wrong with the input is found before anything is started or written.
pub(crate) fn run(args: &AgentArgs, printer: &mut Printer) -> Result<(), Error> {
    if args.model.quiet {
        printer.be_quiet();
    }
    let catalog = catalog::load(&args.model.data)?;
    let toolbox = toolbox(&args.gadgets)?;
    let mut model = connect::model(&args.model.model, Wishes::of(&args.model), &catalog)?;
    let mut header = header(args, &toolbox, model.as_ref())?;
    if args.tools == ToolForm::Native {
        header.tools = Tools::Native;
        model = model.with_tools(&header.gadgets).ok_or_else(|| {
            let name = &args.model.model;
            Error::input(format_args!(
                "{name} has no interface for tools; leave out --tools native"
            ))
        })?;
    }
    header.run().map_err(Error::input)?;
    let prompt = typed_or_piped(&args.prompt, printer)?;
    header.conversation = vec![Message::text(Role::User, prompt)];
    let run = header.run().map_err(Error::input)?;
    refuse_to_overwrite_input(args)?;
    let log = args
        .save
        .as_deref()
        .map(|path| begin_log(path, &header))
        .transpose()?;
    let (sender, receiver) = commands();
    if args.events.is_some() {
        let sender = sender.clone();
        when_reader_goes(move || drop(sender.try_send(Command::Cancel)));
    }
    if args.events.is_none() {
        printer.spin();
    }
    let watch = Watch {
        printer: mem::take(printer),
        tally: Tally::default(),
        events: args.events.is_some(),
        narrator: Narrator::of_gadgets(),
        log,
        commands: sender.clone(),
        failed: None,
    };
    let (summary, watch) = conduct(run, model, toolbox, (sender, receiver), watch)?;
    *printer = watch.printer;
    printer.sum_up(|| watch.tally.words());
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
                "{}: the log is not complete: {error}",
                path.display()
            ))
        })?;
    }
    verdict(&summary)
}

/// What the run is made from, but for the prompt.
fn header(args: &AgentArgs, toolbox: &Toolbox, model: &dyn Model) -> Result<Header, Error> {
    let mut header = Header::new(toolbox.registry(), Vec::new());
    let info = model.info();
    let charges = info.price.as_ref().is_some_and(Price::charges);
    if args.budget.is_some() && !charges && !info.is_local {
        return Err(Error::input(format_args!(
            "--budget needs a model with a known price, and none is known of {}; `gadgetry models` lists them",
            args.model.model
        )));
    }
    header.system.clone_from(&args.model.system);
    header.retry = connect::retry(&args.model);
    header.budget = args.budget;
    header.price = info.price;
    // Where the window is not known, nobody knows when a conversation becomes too long.
    header.compaction = info.context_window.map(|_| Compaction::default());
    header.context_window = info.context_window;
    header.tags.clone_from(&args.tags);
    if let Some(limit) = args.max_iterations {
        header.max_iterations = clamp(limit.get());
    }
    header.schedule.max_concurrent = Some(
        args.max_concurrent
            .map_or_else(room_for_processes, |limit| clamp(limit.get())),
    );
    header.schedule.max_per_reply = args
        .max_gadgets_per_response
        .map(|limit| clamp(limit.get()));
    Ok(header)
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

fn toolbox(path: &Path) -> Result<Toolbox, Error> {
    let mut toolbox = Toolbox::default();
    for gadget in command::load(path).map_err(Error::input)? {
        toolbox
            .add(gadget)
            .map_err(|error| Error::at(path.display(), error))?;
    }
    Ok(toolbox)
}

/// A log must not take the place of what the run is made from.
fn refuse_to_overwrite_input(args: &AgentArgs) -> Result<(), Error> {
    let place = |path: &Path| path.canonicalize().ok();
    let Some(save) = args.save.as_deref().and_then(place) else {
        return Ok(());
    };
    let script = connect::script(&args.model.model);
    for input in script.into_iter().chain([args.gadgets.as_path()]) {
        if place(input).as_ref() == Some(&save) {
            let input = input.display();
            return Err(Error::input(format!(
                "--save would overwrite {input}, which the run is made from; name another file"
            )));
        }
    }
    Ok(())
}

fn begin_log(path: &Path, header: &Header) -> Result<LogWriter<File>, Error> {
    let problem = |error: &dyn std::fmt::Display| {
        Error::input(format_args!("cannot write {}: {error}", path.display()))
    };
    let file = File::create(path).map_err(|error| problem(&error))?;
    LogWriter::new(file, header).map_err(|error| problem(&error))
}

/// Events to stdout or words to stderr, inputs to the log.
struct Watch {
    printer: Printer,
    events: bool,
    narrator: Narrator,
    tally: Tally,
    log: Option<LogWriter<File>>,
    commands: mpsc::Sender<Command>,
    /// Stdout is gone, or worse: the run is stopped.
    failed: Option<Error>,
}

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        if !self.events {
            if let Some(words) = self.narrator.tell(event) {
                self.printer.progress(&words);
            }
            self.tally.event(event);
            self.printer.spin_with(|| self.tally.words());
        } else if self.failed.is_none()
            && let Err(error) = run_events::print(event, &mut self.printer)
        {
            self.failed = Some(error);
            let _ = self.commands.try_send(Command::Cancel);
        }
    }

    fn input(&mut self, time: Time, input: &Input) {
        if let Some(log) = &mut self.log {
            log.input(time, input);
        }
    }
}

/// Whether the run did what it was asked.
pub(crate) fn verdict(summary: &Summary) -> Result<(), Error> {
    let message = match summary.reason {
        FinishReason::Completed | FinishReason::TaskCompleted | FinishReason::Stopped => {
            return Ok(());
        }
        FinishReason::MaxIterations => {
            format!(
                "stopped after {} replies; allow more with --max-iterations",
                summary.iterations
            )
        }
        FinishReason::Truncated => {
            "the last reply was cut off at the model's token limit".to_owned()
        }
        FinishReason::ModelError => {
            let words = summary.error.as_deref().unwrap_or("no reason given");
            format!("the model failed: {words}")
        }
        FinishReason::Cancelled => "cancelled".to_owned(),
        FinishReason::BudgetExceeded => {
            format!("the budget is spent: {} US dollars", summary.total_cost)
        }
        FinishReason::GadgetError => {
            let words = summary.error.as_deref().unwrap_or("no reason given");
            format!("a gadget failed: {words}")
        }
        _ => format!("the run ended: {:?}", summary.reason),
    };
    Err(Error::Failed(message))
}
