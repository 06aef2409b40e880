//! `gadgetry sessions`: what is kept of runs.

mod list;
mod show;

use std::time::{Duration, SystemTime};

use crate::args::{DataArgs, ExportArgs, RemoveArgs, SessionName, SessionsArgs, SessionsVerb};
use crate::error::Error;
use crate::log_file::{self, InUse};
use crate::printer::Printer;
use crate::sessions::{Session, Sessions, problem, unknown};

/// Runs the command.
pub(crate) fn run(args: &SessionsArgs, printer: &mut Printer) -> Result<(), Error> {
    match &args.verb {
        SessionsVerb::List(args) => list::run(args, printer),
        SessionsVerb::Show(args) => show::run(args, printer),
        SessionsVerb::Answer(args) => show::answer(args, printer),
        SessionsVerb::Export(args) => export(args, printer),
        SessionsVerb::Rm(args) => remove(args, printer),
        SessionsVerb::Vacuum(data) => vacuum(data),
        // It was made a run of `gadgetry agent` while it was parsed.
        SessionsVerb::Resume(args) => Err(unknown(&args.name)),
    }
}

/// The sessions, if `name` is among them.
fn open(data: &DataArgs, name: &SessionName) -> Result<(Sessions, Session), Error> {
    let sessions = Sessions::existing(data)?.ok_or_else(|| unknown(name))?;
    let session = sessions.get(name)?;
    Ok((sessions, session))
}

fn export(args: &ExportArgs, printer: &mut Printer) -> Result<(), Error> {
    let (sessions, session) = open(&args.data, &args.name)?;
    let (_, run) = session.run(args.run.map(Into::into))?;
    let exported = match &args.file {
        Some(path) => sessions.export(&run.id, log_file::create(path, &InUse::by([], &[]))?)?,
        None => sessions.export(&run.id, printer.out_json())?,
    };
    match exported.damage {
        Some(error) => Err(Error::Failed(error.to_string())),
        None => Ok(()),
    }
}

fn remove(args: &RemoveArgs, printer: &mut Printer) -> Result<(), Error> {
    let Some(sessions) = Sessions::existing(&args.data)? else {
        return args.names.first().map_or(Ok(()), |name| Err(unknown(name)));
    };
    let found: Vec<Session> = match args.older_than {
        Some(age) => old(&sessions, age)?,
        None => args
            .names
            .iter()
            .map(|name| sessions.get(name))
            .collect::<Result<_, _>>()?,
    };
    for session in &found {
        // The first run last: without it there would be no session to remove if this is interrupted.
        for run in session.runs.values().rev() {
            sessions
                .wait(gadgetry::journal::Journal::forget(
                    &sessions.journal,
                    &run.id,
                ))
                .map_err(|error| problem(&error))?;
        }
    }
    if args.older_than.is_some() {
        let plural = if found.len() == 1 { "" } else { "s" };
        printer.progress(&format!("removed {} session{plural}\n", found.len()));
    }
    sessions.flush();
    Ok(())
}

/// The sessions that were not used for this time and are not in progress.
fn old(sessions: &Sessions, age: Duration) -> Result<Vec<Session>, Error> {
    let Some(before) = SystemTime::now().checked_sub(age) else {
        return Ok(Vec::new());
    };
    let mut all = sessions.all()?;
    all.retain(|session| {
        let is_driven = session.runs.values().any(|run| run.is_driven);
        session.updated() <= before && !is_driven
    });
    Ok(all)
}

fn vacuum(data: &DataArgs) -> Result<(), Error> {
    let Some(sessions) = Sessions::existing(data)? else {
        return Ok(());
    };
    let done = sessions.wait(sessions.journal.vacuum());
    done.map_err(|error| Error::Failed(error.to_string()))
}
