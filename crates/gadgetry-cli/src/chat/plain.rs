//! The conversation without a screen: each line of stdin is a message, as `gadgetry agent` would run it.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::mem;
use std::sync::Arc;

use gadgetry::driver::Observer;
use gadgetry::proto::event::Event;
use gadgetry::{AgentRun, HumanQuestion, RunError};
use tokio::task::spawn_blocking;

use super::again::Again;
use super::commands::Entered;
use super::perform::perform;
use super::report::Report;
use super::talk::{Opened, Talk, User};
use crate::approvals::{TerminalApprover, by_terminal};
use crate::cli::ChatArgs;
use crate::error::Error;
use crate::follow::{print_answer, verdict};
use crate::hooks::{Ending, noted};
use crate::invocation::Invocation;
use crate::narrator::Narrator;
use crate::printer::Printer;
use crate::run_agent::until_interrupted;
use crate::usage_totals::UsageTotals;

/// Bytes of a line.
const LONGEST: u64 = 4 << 20;

/// Holds the conversation until the end of stdin.
pub(super) async fn run(
    args: ChatArgs,
    invocation: Invocation,
    printer: &Printer,
) -> Result<(), Error> {
    let first = args.prompt.clone();
    let approver = Arc::new(TerminalApprover::new(invocation.config.user_path.clone()));
    let user = Arc::clone(&approver);
    let human = move |question: HumanQuestion| {
        let prompter = user.prompter();
        async move {
            match prompter {
                Some(prompter) => prompter.ask(question.text).await,
                None => None,
            }
        }
    };
    let user = User::new(Arc::new(human), by_terminal(Arc::clone(&approver)));
    let again = Again::new(&invocation.settings);
    let opened = Box::pin(Talk::open(args, invocation, user, printer)).await?;
    let Opened {
        talk,
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
    let mut plain = Plain {
        talk,
        approver,
        totals: UsageTotals::default(),
        printer,
    };
    let done = plain.hold(run, first).await;
    let session = plain.talk.name().map(ToString::to_string);
    let ended = plain.talk.moments().end(session.as_deref(), Ending::Left);
    noted(&ended.await, printer);
    plain.talk.flush().await;
    if let Some(name) = plain.talk.name().filter(|_| plain.talk.is_kept()) {
        printer.progress(&format!("continue with: {}\n", again.of(name)));
    }
    done
}

/// A conversation in lines.
struct Plain<'p> {
    talk: Talk,
    approver: Arc<TerminalApprover>,
    totals: UsageTotals,
    printer: &'p Printer,
}

impl Plain<'_> {
    async fn hold(
        &mut self,
        run: Option<AgentRun<'static>>,
        first: Option<String>,
    ) -> Result<(), Error> {
        if let Some(run) = run {
            let done = self.follow(run).await;
            self.continue_after(done)?;
        }
        if let Some(first) = first {
            let done = self.exchange(first).await;
            self.continue_after(done)?;
        }
        while let Some(line) = next_line(self.printer).await? {
            let done = match Entered::of(&line, &self.talk.facts().names.named) {
                None if line.trim().is_empty() => Ok(()),
                None | Some(Entered::Skill(..)) => self.exchange(line).await,
                Some(Entered::Quit) => break,
                Some(command) => self.perform(command).await,
            };
            self.continue_after(done)?;
        }
        Ok(())
    }

    /// A run without an answer and a command that fails end the conversation, unless a user is there to say more.
    fn continue_after(&mut self, done: Result<(), Error>) -> Result<(), Error> {
        match done {
            Err(error @ (Error::Failed(_) | Error::Input(_))) if io::stdin().is_terminal() => {
                self.printer.progress(&format!("{error}\n"));
                Ok(())
            }
            done => done,
        }
    }

    async fn perform(&mut self, command: Entered) -> Result<(), Error> {
        let reports = if command == Entered::Cost {
            vec![Report::plain(self.totals.words())]
        } else {
            perform(&mut self.talk, None, command).await?.reports
        };
        for report in reports {
            self.printer.progress(&report.text());
        }
        Ok(())
    }

    /// A message and its answer.
    async fn exchange(&mut self, message: String) -> Result<(), Error> {
        let mut prompt = self.talk.prompt(message)?;
        let session = self.talk.name().map(ToString::to_string);
        let submitted = self.talk.moments();
        let submitted = submitted.submit(session.as_deref(), &prompt.full).await?;
        for problem in prompt.problems.iter().chain(&submitted.notes) {
            self.printer.progress(&format!("{problem}\n"));
        }
        prompt.full += &submitted.context;
        let run = self.talk.ask(prompt).await?;
        let done = self.follow(run).await;
        if let Some(problem) = self.talk.take_problem() {
            self.printer.progress(&format!("{problem}\n"));
        }
        done
    }

    async fn follow(&mut self, run: AgentRun<'static>) -> Result<(), Error> {
        let printer = self.printer;
        printer.spin();
        self.approver.begin(printer.prompter());
        let handle = run.handle();
        let mut watch = Watch {
            printer: printer.clone(),
            narrator: Narrator::of_gadgets(),
            totals: UsageTotals::default(),
            all: mem::take(&mut self.totals),
        };
        let work = async move {
            let ended = run.observe(&mut watch).await;
            (ended.unwrap_or_else(RunError::into_finished), watch)
        };
        let mut was_cancelled = false;
        let is_enough = || {
            handle.cancel();
            mem::replace(&mut was_cancelled, true)
        };
        let ended = until_interrupted(work, is_enough).await?;
        let (finished, watch) = ended
            .ok_or_else(|| Error::Failed("stopped without waiting for the gadgets".to_owned()))?;
        self.totals = watch.all;
        printer.sum_up(|| watch.totals.words());
        print_answer(&finished.summary, printer);
        printer.flush()?;
        self.talk.ended(&finished);
        match &finished.fault {
            Some(fault) => Err(Error::Failed(format!("the run was stopped: {fault}"))),
            None => verdict(&finished.summary),
        }
    }
}

/// The next line of stdin without its end; `None` at the end of stdin. It is read on a thread of its own, so that an interrupt ends
/// the program meanwhile, and the MCP servers.
async fn next_line(printer: &Printer) -> Result<Option<String>, Error> {
    printer.flush()?;
    if io::stdin().is_terminal() {
        printer.progress("> ");
    }
    let read = spawn_blocking(read_line).await;
    read.map_err(|error| Error::bug(&error))?
}

fn read_line() -> Result<Option<String>, Error> {
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

/// Shows a run as progress.
struct Watch {
    printer: Printer,
    narrator: Narrator,
    /// Usage of this run.
    totals: UsageTotals,
    /// Usage of the conversation.
    all: UsageTotals,
}

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        if let Some(words) = self.narrator.narrate(event) {
            self.printer.progress(&words);
        }
        self.totals.event(event);
        self.all.event(event);
        self.printer.spin_with(|| self.totals.words());
    }
}
