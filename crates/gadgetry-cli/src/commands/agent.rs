//! `gadgetry agent`: a model, its gadgets, and the loop between them.

use std::fs::File;
use std::mem;

use gadgetry::AgentHandle;
use gadgetry::driver::Observer;
use gadgetry::log::LogWriter;
use gadgetry::proto::event::{Event, FinishReason};
use gadgetry::proto::run::{Input, Summary};
use gadgetry::proto::time::Time;

use crate::args::AgentArgs;
use crate::build_agent::build_agent;
use crate::error::Error;
use crate::interrupts::when_reader_goes;
use crate::log_file;
use crate::narrator::Narrator;
use crate::printer::Printer;
use crate::prompt::typed_or_piped;
use crate::run_agent::run_agent;
use crate::usage_totals::UsageTotals;

/// Runs the command. All input is checked before anything is started or written.
pub(crate) fn run(args: &AgentArgs, printer: &mut Printer) -> Result<(), Error> {
    if args.options.model.quiet {
        printer.be_quiet();
    }
    let (agent, in_use) = build_agent(&args.options)?;
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
