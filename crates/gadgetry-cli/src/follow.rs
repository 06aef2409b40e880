//! A run of `gadgetry agent` while it is in progress, and how it ends.

use std::fmt::Write as _;
use std::fs::File;
use std::future::pending;
use std::path::Path;

use gadgetry::driver::Observer;
use gadgetry::log::LogWriter;
use gadgetry::proto::event::{Event, FinishReason};
use gadgetry::proto::run::{Input, Summary};
use gadgetry::proto::time::Time;
use gadgetry::{AgentHandle, AgentRun};

use crate::approvals::TerminalApprover;
use crate::checkpoints::Checkpoints;
use crate::cli::AgentArgs;
use crate::error::Error;
use crate::interrupts::when_reader_goes;
use crate::lines::one_line;
use crate::narrator::Narrator;
use crate::outcome::Recorder;
use crate::printer::{Printer, Prompter, columns_with_styles};
use crate::run_agent::run_unless_left;
use crate::sessions::{Kept, questions};
use crate::usage_totals::UsageTotals;

/// The log of `--save`.
pub(crate) enum Log {
    /// Written while the run is in progress.
    Live(LogWriter<File>),
    /// Written from the session at the end, because the run began earlier.
    Exported(File),
}

/// What belongs to a run that is followed.
pub(crate) struct Followed<'a> {
    /// The session that stores the run, if one does.
    pub(crate) kept: Option<&'a Kept>,
    /// Who approves its calls, if the agent has one.
    pub(crate) approver: &'a TerminalApprover,
    /// Records the files that it changes.
    pub(crate) checkpoints: &'a Checkpoints,
    /// The log of `--save`.
    pub(crate) log: Option<Log>,
    /// How the answer is shown in a terminal.
    pub(crate) format: Option<Format>,
}

/// Returns a text with styles, for a terminal of this width in columns.
pub(crate) type Format = fn(&str, usize) -> String;

/// Runs it to its end, shows it, and turns its outcome into an exit code. Questions go to the session's user and to the approver.
pub(crate) async fn follow(
    run: AgentRun<'static>,
    args: &AgentArgs,
    followed: Followed<'_>,
    printer: &Printer,
) -> Result<(), Error> {
    let Followed {
        kept,
        approver,
        checkpoints,
        log,
        format,
    } = followed;
    let handle = run.handle();
    if args.is_for_program() {
        let handle = handle.clone();
        when_reader_goes(move || handle.cancel());
    } else {
        printer.spin();
    }
    let (live, exported) = match log {
        Some(Log::Live(log)) => (Some(log), None),
        Some(Log::Exported(file)) => (None, Some(file)),
        None => (None, None),
    };
    let watch = Watch {
        printer: printer.clone(),
        totals: UsageTotals::default(),
        recorder: Recorder::default(),
        output: Output::of(args),
        narrator: Narrator::of_gadgets(),
        log: live,
        handle,
        failed: None,
    };
    let asks = |prompter: Option<Prompter>| prompter.filter(|_| !args.print);
    approver.begin(asks(watch.printer.prompter()));
    let asker = kept.and_then(|kept| {
        let asker = kept.asker.clone()?;
        let prompter = asks(watch.printer.prompter());
        asker.begin(&kept.sessions.journal, &kept.run, prompter);
        Some(asker)
    });
    let left = async move {
        match asker {
            Some(asker) => asker.left().await,
            None => pending().await,
        }
    };
    let finished = run_unless_left(run, args.timeout, left, watch).await;
    if let Some(kept) = kept {
        kept.sessions.flush().await;
    }
    let finished = finished?;
    let watch = finished.observer;
    printer.sum_up(|| watch.totals.words());
    if let Some(error) = watch.failed {
        return Err(error);
    }
    let Some(summary) = finished.summary else {
        return Err(waits(kept).await);
    };
    if watch.output == Output::Answer {
        show_answer(&summary, format.filter(|_| !args.print), printer)?;
    }
    if let Some((log, path)) = watch.log.zip(args.save.as_deref()) {
        log.finish().map_err(|error| incomplete(path, &error))?;
    }
    if let (Some(file), Some(path), Some(kept)) = (exported, args.save.as_deref(), kept) {
        save(kept, file, path).await?;
    }
    let verdict = if let Some(fault) = finished.fault {
        Err(Error::Failed(format!("the run was stopped: {fault}")))
    } else if finished.timed_out && summary.reason == FinishReason::Cancelled {
        Err(Error::Failed("the run exceeded its --timeout".to_owned()))
    } else {
        verdict(&summary).and_then(|()| watch.recorder.verdict())
    };
    if args.writes_result() {
        let error = verdict.as_ref().err().map(ToString::to_string);
        let session = kept.map(|it| it.name.to_string());
        let of_run = (session, args.options.model.name());
        let recorder = &watch.recorder;
        let outcome = recorder.outcome(&summary, error, of_run, Some(checkpoints));
        printer.json_line(&outcome)?;
    }
    verdict
}

/// Prints the first line of progress.
pub(crate) fn announce(args: &AgentArgs, kept: &Kept, printer: &Printer) {
    if !args.is_for_program() {
        printer.progress(&format!("session {}\n", kept.name));
    }
}

/// The run was left because it waits for answers.
async fn waits(kept: Option<&Kept>) -> Error {
    let mut words = "the run waits for an answer".to_owned();
    if let Some(Kept {
        sessions,
        name,
        run,
        ..
    }) = kept
    {
        for question in questions(&sessions.journal, run).await {
            let (id, text) = (question.id, one_line(&question.text));
            // Writing to a string cannot fail.
            let _ = write!(
                words,
                "; question {id}: {text} Answer it with `gadgetry sessions answer {name} {id} TEXT`"
            );
        }
        let _ = write!(words, ", then `gadgetry sessions resume {name}`");
    }
    Error::Failed(words)
}

/// Shows the answer of a run: with styles in a terminal that has them, if there is a way to make some.
pub(crate) fn show_answer(
    summary: &Summary,
    format: Option<Format>,
    printer: &Printer,
) -> Result<(), Error> {
    if let Some((format, columns)) = format.zip(columns_with_styles()) {
        return printer.styled(&format(&summary.answer, columns));
    }
    print_answer(summary, printer);
    Ok(())
}

/// The answer of a run, on lines of its own.
pub(crate) fn print_answer(summary: &Summary, printer: &Printer) {
    if !summary.answer.is_empty() {
        printer.text(summary.answer.trim_end_matches('\n'));
        printer.text("\n");
    }
}

/// Writes the log of a stored run.
pub(crate) async fn save(kept: &Kept, file: File, path: &Path) -> Result<(), Error> {
    let exported = kept.sessions.export(&kept.run, file).await?;
    match exported.damage {
        Some(error) => Err(incomplete(path, &error)),
        None => Ok(()),
    }
}

fn incomplete(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::Failed(format!(
        "{}: the log is incomplete: {error}",
        path.display()
    ))
}

/// What a run writes while it is in progress, and at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    /// Progress, and the answer.
    Answer,
    /// Each event, as a line of JSON.
    Events,
    /// Nothing before its end.
    Nothing,
}

impl Output {
    fn of(args: &AgentArgs) -> Self {
        if args.writes_events() {
            Self::Events
        } else if args.writes_result() {
            Self::Nothing
        } else {
            Self::Answer
        }
    }
}

/// Events to stdout or words to stderr, inputs to the log.
struct Watch {
    printer: Printer,
    output: Output,
    narrator: Narrator,
    totals: UsageTotals,
    recorder: Recorder,
    log: Option<LogWriter<File>>,
    handle: AgentHandle,
    /// Reason why stdout cannot be written; then the run is stopped.
    failed: Option<Error>,
}

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        self.recorder.event(event);
        if self.output == Output::Answer {
            if let Some(words) = self.narrator.narrate(event) {
                self.printer.progress(&words);
            }
            self.totals.event(event);
            self.printer.spin_with(|| self.totals.words());
        } else if self.output == Output::Events
            && self.failed.is_none()
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
                "stopped after {} iteration{plural} (--max-iterations); --continue with a prompt continues it",
                summary.iterations
            )
        }
        FinishReason::Truncated => {
            "the last reply was cut off at the model's token limit".to_owned()
        }
        FinishReason::Withheld => match &summary.error {
            Some(refusal) => refusal.message.clone(),
            None => "the provider withheld the last reply".to_owned(),
        },
        FinishReason::ModelError => {
            let words = summary
                .error
                .as_ref()
                .map_or("no reason given", |it| &it.message);
            format!("model call failed: {words}")
        }
        FinishReason::Cancelled => "cancelled".to_owned(),
        FinishReason::BudgetExceeded => {
            format!("budget exceeded: {} US dollars spent", summary.known_cost)
        }
        FinishReason::GadgetError => "a gadget failed".to_owned(),
        _ => format!("the run ended: {:?}", summary.reason),
    };
    Err(Error::Failed(message))
}
