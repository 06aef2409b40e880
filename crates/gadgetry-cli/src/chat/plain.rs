//! The conversation without a screen: each line of stdin is a message, as `gadgetry agent` would run it.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::mem;
use std::sync::Arc;

use gadgetry::driver::Observer;
use gadgetry::proto::event::Event;
use gadgetry::{AgentRun, RunError};

use super::commands::Entered;
use super::files;
use super::flight::Flight;
use super::injected::Injected;
use super::talk::{Opened, Talk, User};
use crate::args::ChatArgs;
use crate::error::Error;
use crate::follow::{print_answer, verdict};
use crate::narrator::Narrator;
use crate::printer::{Printer, Prompter};
use crate::run_agent::until_interrupted;
use crate::usage_totals::UsageTotals;

/// Bytes of a line.
const LONGEST: u64 = 4 << 20;

/// Holds the conversation until the end of stdin.
pub(super) fn run(args: ChatArgs, printer: &mut Printer) -> Result<(), Error> {
    let first = args.prompt.clone();
    let prompter = printer.prompter().map(Arc::new);
    let human = move |question: String| {
        let prompter: Option<Arc<Prompter>> = prompter.clone();
        async move {
            match prompter {
                Some(prompter) => prompter.ask(question).await,
                None => None,
            }
        }
    };
    let user = User {
        human: Arc::new(human),
        approver: None,
        flight: Flight::default(),
        injected: Injected::default(),
    };
    let opened = Talk::open(args, user, printer)?;
    let Opened {
        mut talk,
        last,
        run,
        note,
    } = opened;
    if let Some(note) = note {
        printer.progress(&format!("{note}\n"));
    }
    if let Some((_, answer)) = last.filter(|(_, answer)| !answer.is_empty()) {
        printer.text(answer.trim_end_matches('\n'));
        printer.text("\n");
    }
    let done = hold(&mut talk, run, first, printer);
    talk.flush();
    if let Some(name) = talk.name() {
        printer.progress(&format!("continue with: gadgetry chat --continue {name}\n"));
    }
    done
}

fn hold(
    talk: &mut Talk,
    run: Option<AgentRun<'static>>,
    first: Option<String>,
    printer: &mut Printer,
) -> Result<(), Error> {
    if let Some(run) = run {
        let done = follow(talk, run, printer);
        go_on_after(done, printer)?;
    }
    if let Some(first) = first {
        let done = exchange(talk, &first, printer);
        go_on_after(done, printer)?;
    }
    while let Some(line) = next_line(printer)? {
        match Entered::of(&line) {
            None if line.trim().is_empty() => {}
            None => {
                let done = exchange(talk, &line, printer);
                go_on_after(done, printer)?;
            }
            Some(Entered::Quit) => break,
            Some(_) => printer.progress("slash commands other than /quit need a terminal\n"),
        }
    }
    Ok(())
}

/// A run without an answer ends the conversation, unless a user is there to say more.
fn go_on_after(done: Result<(), Error>, printer: &mut Printer) -> Result<(), Error> {
    match done {
        Err(Error::Failed(problem)) if io::stdin().is_terminal() => {
            printer.progress(&format!("{problem}\n"));
            Ok(())
        }
        done => done,
    }
}

/// The next line of stdin without its end; `None` at the end of stdin.
fn next_line(printer: &mut Printer) -> Result<Option<String>, Error> {
    printer.flush()?;
    if io::stdin().is_terminal() {
        printer.progress("> ");
    }
    let mut line = Vec::new();
    let mut stdin = io::stdin().lock().take(LONGEST);
    let read = stdin.read_until(b'\n', &mut line);
    read.map_err(|error| Error::at("stdin", error))?;
    if line.len() as u64 == LONGEST {
        return Err(Error::input("stdin: a line is longer than 4 MiB"));
    }
    let line = String::from_utf8_lossy(&line);
    let text = line.trim_end_matches(['\r', '\n']);
    Ok((!line.is_empty()).then(|| text.to_owned()))
}

/// A message and its answer.
fn exchange(talk: &mut Talk, message: &str, printer: &mut Printer) -> Result<(), Error> {
    let (message, problems) = files::attach(message);
    for problem in problems {
        printer.progress(&format!("{problem}\n"));
    }
    let run = talk.ask(message)?;
    follow(talk, run, printer)
}

fn follow(talk: &mut Talk, run: AgentRun<'static>, printer: &mut Printer) -> Result<(), Error> {
    printer.spin();
    let handle = run.handle();
    let mut watch = Watch {
        printer: mem::take(printer),
        narrator: Narrator::of_gadgets(),
        totals: UsageTotals::default(),
    };
    let work = move || async move {
        let ended = run.observe(&mut watch).await;
        (ended.unwrap_or_else(RunError::into_finished), watch)
    };
    let mut was_cancelled = false;
    let is_enough = || {
        handle.cancel();
        mem::replace(&mut was_cancelled, true)
    };
    let ended = until_interrupted(work, is_enough)?;
    let (finished, watch) =
        ended.ok_or_else(|| Error::Failed("stopped without waiting for the gadgets".to_owned()))?;
    *printer = watch.printer;
    printer.sum_up(|| watch.totals.words());
    print_answer(&finished.summary, printer);
    printer.flush()?;
    talk.ended(&finished);
    match &finished.fault {
        Some(fault) => Err(Error::Failed(format!("the run was stopped: {fault}"))),
        None => verdict(&finished.summary),
    }
}

/// Shows a run as progress.
struct Watch {
    printer: Printer,
    narrator: Narrator,
    totals: UsageTotals,
}

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        if let Some(words) = self.narrator.narrate(event) {
            self.printer.progress(&words);
        }
        self.totals.event(event);
        self.printer.spin_with(|| self.totals.words());
    }
}
