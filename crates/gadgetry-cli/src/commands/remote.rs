//! `gadgetry remote`: runs on the workers of a Restate server, from outside.

use gadgetry::journal::JournalError;
use gadgetry::proto::run::{Decision, OpenQuestionKind};
use gadgetry_restate::{Client, RestateError, RunOutcome, RunStatus};

use crate::cli::{AnswerKind, RemoteArgs, RemoteVerb};
use crate::error::Error;
use crate::follow::verdict;
use crate::narrator::Narrator;
use crate::printer::Printer;
use crate::run_agent::until_interrupted;
use crate::usage_totals::UsageTotals;

/// Runs the command.
pub(crate) async fn run(args: &RemoteArgs, printer: &Printer) -> Result<(), Error> {
    match &args.verb {
        RemoteVerb::Status(args) => {
            let client = client(&args.restate.restate)?;
            let run = args.run.clone();
            let status = unless_interrupted(async move { client.status(&run).await }).await?;
            let status = status.map_err(|error| words(&error))?;
            printer.text(&described(&status));
            Ok(())
        }
        RemoteVerb::Follow(args) => {
            let client = client(&args.run.restate.restate)?;
            let run = args.run.run.clone();
            follow(client, run, args.from_seq, args.events.is_some(), printer).await
        }
        RemoteVerb::Answer(args) => {
            let client = client(&args.restate.restate)?;
            let (run, wanted) = (args.run.clone(), args.question);
            let (text, means) = (args.text.clone(), args.decision);
            let answer = async move {
                let status = client.status(&run).await.map_err(|error| words(&error))?;
                let open = if let RunStatus::Waiting(questions) = status {
                    questions
                } else {
                    Vec::new()
                };
                let question = open.into_iter().find(|question| question.id == wanted);
                let decision = question.and_then(|question| decision(question.kind, means, text));
                let Some(decision) = decision else {
                    let run = run.parse().map_err(Error::input)?;
                    let question = wanted;
                    return Err(Error::input(JournalError::NoQuestion { run, question }));
                };
                let answered = client.answer(&run, wanted, decision).await;
                answered.map_err(|error| words(&error))
            };
            unless_interrupted(answer).await?
        }
        RemoteVerb::Cancel(args) => {
            let client = client(&args.restate.restate)?;
            let run = args.run.clone();
            let cancelled = unless_interrupted(async move { client.cancel(&run).await }).await?;
            cancelled.map_err(|error| words(&error))
        }
    }
}

/// Converts an answer to a decision; `None` if its question does not admit it.
fn decision(question: OpenQuestionKind, means: AnswerKind, text: String) -> Option<Decision> {
    let decision = match means {
        AnswerKind::Text => question
            .answer(text.clone())
            .unwrap_or(Decision::Result(text)),
        AnswerKind::Proceed => Decision::Proceed,
        AnswerKind::Execute => Decision::Execute,
        AnswerKind::Deny => Decision::Deny(text),
        AnswerKind::Stop => Decision::Stop,
    };
    question.admits(&decision).then_some(decision)
}

fn client(url: &str) -> Result<Client, Error> {
    Client::new(url).map_err(Error::input)
}

/// Waits for `work`, or fails at an interrupt.
pub(crate) async fn unless_interrupted<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Error> {
    let done = until_interrupted(work, || true).await?;
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
pub(crate) async fn follow(
    client: Client,
    run: String,
    from: u64,
    has_events: bool,
    printer: &Printer,
) -> Result<(), Error> {
    if !has_events {
        printer.spin();
    }
    let shown = printer.clone();
    let work = async move { show(&client, &run, from, has_events, &shown).await };
    let outcome = unless_interrupted(work).await??;
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
    printer: &Printer,
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
