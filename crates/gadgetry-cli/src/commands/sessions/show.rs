//! `gadgetry sessions show` and `answer`: one session.

use std::fmt::Write as _;
use std::io::Cursor;

use gadgetry::driver::Observer;
use gadgetry::log::{LogError, replay};
use gadgetry::proto::event::{Event, EventKind};
use gadgetry::proto::run::QuestionRef;
use gadgetry_store::RunRecord;

use super::record::status;
use crate::cli::{SessionAnswerArgs, ShowArgs};
use crate::error::Error;
use crate::narrator::Narrator;
use crate::options::MODEL;
use crate::printer::Printer;
use crate::sessions::{Session, Sessions, details, problem, text_of};

/// Runs `show`.
pub(super) async fn run(args: &ShowArgs, printer: &Printer) -> Result<(), Error> {
    let (sessions, session) = Sessions::with(&args.data, &args.name).await?;
    let number = args.run.map(Into::into);
    if args.events {
        let (_, run) = session.run(number)?;
        return events(&sessions, run, printer).await;
    }
    let only = number.map(|number| session.run(Some(number))).transpose()?;
    printer.text(&head(&session)?);
    for (number, run) in &session.runs {
        if only.is_some_and(|(only, _)| only != *number) {
            continue;
        }
        printer.text(&transcript(&sessions, run).await?);
    }
    Ok(())
}

fn head(session: &Session) -> Result<String, Error> {
    let (_, last) = session.last()?;
    let mut head = format!("session  {}\nstatus   {}\n", session.name, status(last));
    if let Some(details) = details(last) {
        // A session of a later version is shown as far as it can be read.
        let settings = details.settings().unwrap_or_default();
        if let Some(model) = settings.text(MODEL) {
            head.extend(["model    ", model, "\n"]);
        }
        head.extend(["folder   ", &details.folder, "\n"]);
    }
    // Writing to a string cannot fail.
    let _ = match session.total_cost() {
        Some(cost) => writeln!(head, "cost     ${cost:.4}"),
        None => writeln!(head, "cost     ?"),
    };
    for question in &last.progress.questions {
        let _ = writeln!(head, "question {}: {}", question.id, question.text);
    }
    Ok(head)
}

/// The calls of a run, in the lines of its progress.
struct Calls {
    narrator: Narrator,
    lines: String,
}

impl Observer for Calls {
    fn event(&mut self, event: &Event) {
        let is_about_call = matches!(
            event.kind,
            EventKind::GadgetCall { .. }
                | EventKind::GadgetResult { .. }
                | EventKind::GadgetSkipped { .. }
        );
        let words = is_about_call.then(|| self.narrator.narrate(event));
        self.lines.extend(words.flatten());
    }
}

/// The prompts, the calls and the answer of a run.
async fn transcript(sessions: &Sessions, run: &RunRecord) -> Result<String, Error> {
    let mut text = String::new();
    let added = details(run).map(|it| it.added).unwrap_or_default();
    let prompt = text_of(&sessions.prompt(&run.id).await?);
    for prompt in [prompt].iter().chain(&added) {
        text.push('\n');
        for line in prompt.lines() {
            text.extend(["> ", line, "\n"]);
        }
    }
    let mut calls = Calls {
        narrator: Narrator::of_gadgets(),
        lines: String::new(),
    };
    let replayed = sessions.journal.replay().run(&run.id, &mut calls).await;
    if !calls.lines.is_empty() {
        text.extend(["\n", &calls.lines]);
    }
    if let Some(error) = replayed.unwrap_or_else(Some) {
        text.extend([
            "\n(further calls cannot be read: ",
            &problem(&error).to_string(),
            ")\n",
        ]);
    }
    if let Some(summary) = &run.progress.summary {
        let answer = summary.answer.trim_end_matches('\n');
        if !answer.is_empty() {
            text.extend(["\n", answer, "\n"]);
        }
        if let Err(Error::Failed(problem) | Error::Input(problem)) = crate::follow::verdict(summary)
        {
            text.extend(["\n(", &problem, ")\n"]);
        }
    }
    Ok(text)
}

/// The events of a run so far.
async fn events(sessions: &Sessions, run: &RunRecord, printer: &Printer) -> Result<(), Error> {
    let mut log = Vec::new();
    let exported = sessions.export(&run.id, &mut log).await?;
    let mut failed = None;
    let mut print = |event: &Event| {
        if failed.is_none() {
            failed = printer.json_line(event).err();
        }
    };
    let replayed = replay(Cursor::new(log), &mut print);
    if let Some(error) = failed {
        return Err(error);
    }
    replayed.map_err(|error: LogError| Error::Failed(error.to_string()))?;
    match exported.damage {
        Some(error) => Err(Error::Failed(error.to_string())),
        None => Ok(()),
    }
}

/// Runs `answer`.
pub(super) async fn answer(args: &SessionAnswerArgs, printer: &Printer) -> Result<(), Error> {
    let (sessions, session) = Sessions::with(&args.data, &args.name).await?;
    let (_, run) = session.last()?;
    let wanted: QuestionRef = args.question.parse().map_err(Error::input)?;
    let name = &session.name;
    let mut questions = run.progress.questions.iter();
    let question = questions.find(|it| it.id == wanted).ok_or_else(|| {
        Error::input(format_args!(
            "session {name} has no open question {wanted}; `gadgetry sessions show {name}` shows its questions"
        ))
    })?;
    let decision = question.kind.answer(args.text.clone());
    let decision = decision
        .ok_or_else(|| Error::input(format_args!("question {wanted} is not one for the user")))?;
    let answered = sessions.journal.answer(&run.id, wanted, decision);
    answered.await.map_err(|error| problem(&error))?;
    sessions.flush().await;
    if !run.is_driven {
        printer.progress(&format!(
            "the answer is kept; `gadgetry sessions resume {name}` continues the run\n"
        ));
    }
    Ok(())
}
