//! `gadgetry agent`: a model, its gadgets, and the loop between them.

use std::fs::File;
use std::path::Path;

use gadgetry::driver::{Observer, drive};
use gadgetry::log::{Header, LogWriter};
use gadgetry::proto::event::{Event, FinishReason};
use gadgetry::proto::message::{Message, Role};
use gadgetry::proto::run::{Command, Input, Run, Summary};
use gadgetry::proto::time::Time;
use gadgetry::{Model, ScriptedModel, Toolbox, command};
use tokio::sync::mpsc;

use crate::args::AgentArgs;
use crate::error::Error;
use crate::narrator::Narrator;
use crate::printer::Printer;

/// Everything that can be wrong with the input is found before anything is started or written.
pub(crate) fn run(args: &AgentArgs, printer: &mut Printer) -> Result<(), Error> {
    let model = model(&args.model)?;
    let toolbox = toolbox(&args.gadgets)?;
    let mut header = Header::new(
        toolbox.registry(),
        vec![Message::text(Role::User, &args.prompt)],
    );
    if let Some(limit) = args.max_iterations {
        header.max_iterations = clamp(limit.get());
    }
    header.schedule.max_per_reply = args
        .max_gadgets_per_response
        .map(|limit| clamp(limit.get()));
    let run = header.run().map_err(Error::input)?;
    let log = args
        .save
        .as_deref()
        .map(|path| begin_log(path, &header))
        .transpose()?;
    let (commands, receiver) = mpsc::channel(4);
    let mut watch = Watch {
        printer,
        events: args.events.is_some(),
        narrator: Narrator::of_gadgets(),
        log,
        commands: commands.clone(),
        failed: None,
    };
    let summary = block_on(
        run,
        model.as_ref(),
        &toolbox,
        commands,
        receiver,
        &mut watch,
    )?;
    if let Some(error) = watch.failed.take() {
        return Err(error);
    }
    if let Some((log, path)) = watch.log.take().zip(args.save.as_deref()) {
        log.finish()
            .map_err(|error| Error::Failed(format!("{}: {error}", path.display())))?;
    }
    if !watch.events && !summary.answer.is_empty() {
        let answer = summary.answer.trim_end_matches('\n');
        printer.out().extend_from_slice(answer.as_bytes());
        printer.out().push(b'\n');
    }
    verdict(&summary)
}

fn clamp(limit: usize) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}

fn model(name: &str) -> Result<Box<dyn Model>, Error> {
    match name.strip_prefix("script:") {
        Some(path) if !path.is_empty() => Ok(Box::new(
            ScriptedModel::from_path(Path::new(path)).map_err(Error::input)?,
        )),
        _ => Err(Error::input(format!(
            "unknown model '{name}'; write script:FILE for the replies in a file"
        ))),
    }
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

fn begin_log(path: &Path, header: &Header) -> Result<LogWriter<File>, Error> {
    let file = File::create(path).map_err(|error| Error::at(path.display(), error))?;
    LogWriter::new(file, header).map_err(|error| Error::at(path.display(), error))
}

/// Runs it to its end, or until somebody interrupts the program.
fn block_on(
    run: Run,
    model: &dyn Model,
    toolbox: &Toolbox,
    commands: mpsc::Sender<Command>,
    receiver: mpsc::Receiver<Command>,
    watch: &mut Watch<'_>,
) -> Result<Summary, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Error::Failed(format!("cannot start: {error}")))?;
    runtime.block_on(async {
        tokio::spawn(async move {
            interrupted().await;
            // The run may be over already.
            let _ = commands.send(Command::Cancel).await;
        });
        Ok(drive(run, model, toolbox, receiver, watch).await)
    })
}

/// Programs of gadgets are in process groups of their own: an interrupt reaches them only through the run.
async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

/// Events to stdout or words to stderr, inputs to the log.
struct Watch<'a> {
    printer: &'a mut Printer,
    events: bool,
    narrator: Narrator,
    log: Option<LogWriter<File>>,
    commands: mpsc::Sender<Command>,
    /// Stdout is gone, or worse: the run is stopped.
    failed: Option<Error>,
}

impl Observer for Watch<'_> {
    fn event(&mut self, event: &Event) {
        if !self.events {
            if let Some(words) = self.narrator.tell(event) {
                self.printer.progress(&words);
            }
        } else if self.failed.is_none()
            && let Err(error) = self.printer.json_line(event)
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
        FinishReason::Completed | FinishReason::TaskCompleted => return Ok(()),
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
        _ => format!("the run ended: {:?}", summary.reason),
    };
    Err(Error::Failed(message))
}
