//! `gadgetry remote`: runs on the workers of a Restate server, from outside.

use std::mem;

use gadgetry::proto::run::Decision;
use gadgetry_restate::{Client, RestateError, RunOutcome, RunStatus};

use crate::args::{AnswerKind, RemoteArgs, RemoteVerb};
use crate::error::Error;
use crate::follow::verdict;
use crate::narrator::Narrator;
use crate::printer::Printer;
use crate::run_agent::until_interrupted;
use crate::usage_totals::UsageTotals;

/// Runs the command.
pub(crate) fn run(args: &RemoteArgs, printer: &mut Printer) -> Result<(), Error> {
    match &args.verb {
        RemoteVerb::Status(args) => {
            let client = client(&args.restate.restate)?;
            let run = args.run.clone();
            let status = unless_interrupted(move || async move { client.status(&run).await })?;
            let status = status.map_err(|error| words(&error))?;
            printer.text(&described(&status));
            Ok(())
        }
        RemoteVerb::Follow(args) => {
            let client = client(&args.run.restate.restate)?;
            let run = args.run.run.clone();
            follow(client, run, args.from_seq, args.events.is_some(), printer)
        }
        RemoteVerb::Answer(args) => {
            let client = client(&args.restate.restate)?;
            let (run, question) = (args.run.clone(), args.question);
            let text = args.text.clone();
            let decision = match args.decision {
                AnswerKind::Text => Decision::Result(text),
                AnswerKind::Proceed => Decision::Proceed,
                AnswerKind::Execute => Decision::Execute,
                AnswerKind::Deny => Decision::Deny(text),
                AnswerKind::Stop => Decision::Stop,
            };
            let answer = move || async move { client.answer(&run, question, decision).await };
            unless_interrupted(answer)?.map_err(|error| words(&error))
        }
        RemoteVerb::Cancel(args) => {
            let client = client(&args.restate.restate)?;
            let run = args.run.clone();
            let cancelled = unless_interrupted(move || async move { client.cancel(&run).await })?;
            cancelled.map_err(|error| words(&error))
        }
    }
}

fn client(url: &str) -> Result<Client, Error> {
    Client::new(url).map_err(Error::input)
}

/// Waits for `work`, or fails at an interrupt.
pub(crate) fn unless_interrupted<T, F>(
    work: impl FnOnce() -> F + Send + 'static,
) -> Result<T, Error>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let done = until_interrupted(work, || true)?;
    done.ok_or_else(|| Error::Failed("interrupted; the run continues".to_owned()))
}

/// An error of Restate, or of the run.
pub(crate) fn words(error: &RestateError) -> Error {
    Error::Failed(error.to_string())
}

fn described(status: &RunStatus) -> String {
    match status {
        RunStatus::Running => "running\n".to_owned(),
        RunStatus::Waiting(questions) => {
            let mut text = "waiting for an answer\n".to_owned();
            for question in questions {
                let line = format!("question {}: {}\n", question.id, question.text);
                text.push_str(&line);
            }
            text
        }
        RunStatus::Ended(outcome) => format!(
            "ended: {:?}, {} replies, {} US dollars\n",
            outcome.summary.reason, outcome.summary.iterations, outcome.summary.known_cost
        ),
        RunStatus::Failed { message, .. } => format!("failed: {message}\n"),
        _ => format!("{status:?}\n"),
    }
}

/// Shows the progress of a run, or its events, and prints the answer.
pub(crate) fn follow(
    client: Client,
    run: String,
    from: u64,
    has_events: bool,
    printer: &mut Printer,
) -> Result<(), Error> {
    if !has_events {
        printer.spin();
    }
    let mut shown = mem::take(printer);
    let work = move || async move {
        let followed = show(&client, &run, from, has_events, &mut shown).await;
        (followed, shown)
    };
    let (outcome, shown) = unless_interrupted(work)?;
    *printer = shown;
    let outcome = outcome?;
    if !has_events && !outcome.summary.answer.is_empty() {
        printer.text(outcome.summary.answer.trim_end_matches('\n'));
        printer.text("\n");
    }
    verdict(&outcome.summary)
}

async fn show(
    client: &Client,
    run: &str,
    from: u64,
    has_events: bool,
    printer: &mut Printer,
) -> Result<RunOutcome, Error> {
    let mut followed = client.follow(run, from);
    let mut narrator = Narrator::of_gadgets();
    let mut totals = UsageTotals::default();
    while let Some(event) = followed.next().await.map_err(|error| words(&error))? {
        if has_events {
            printer.json_line(&event)?;
            continue;
        }
        if let Some(words) = narrator.narrate(&event) {
            printer.progress(&words);
        }
        totals.event(&event);
        printer.spin_with(|| totals.words());
    }
    printer.sum_up(|| totals.words());
    client.result(run).await.map_err(|error| words(&error))
}
