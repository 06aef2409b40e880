//! `gadgetry sessions`: what is kept of runs.

mod list;
mod record;
mod show;

use std::time::{Duration, SystemTime};

use crate::cli::{DataArgs, ExportArgs, RemoveArgs, SessionsArgs, SessionsVerb};
use crate::error::Error;
use crate::lines::counted;
use crate::log_file::{self, InUse};
use crate::printer::Printer;
use crate::sessions::{Session, Sessions, unknown};

#[cfg(feature = "inspect")]
pub(super) use record::status;

/// Runs the command.
pub(crate) async fn run(args: &SessionsArgs, printer: &Printer) -> Result<(), Error> {
    match &args.verb {
        SessionsVerb::List(args) => list::run(args, printer).await,
        SessionsVerb::Show(args) => show::run(args, printer).await,
        SessionsVerb::Answer(args) => show::answer(args, printer).await,
        SessionsVerb::Export(args) => export(args, printer).await,
        SessionsVerb::Rm(args) => remove(args, printer).await,
        SessionsVerb::Vacuum(data) => vacuum(data).await,
        // It was made a run of `gadgetry agent` while it was parsed.
        SessionsVerb::Resume(args) => Err(unknown(&args.name)),
    }
}

async fn export(args: &ExportArgs, printer: &Printer) -> Result<(), Error> {
    let (sessions, session) = Sessions::with(&args.data, &args.name).await?;
    let (_, run) = session.run(args.run.map(Into::into))?;
    let exported = if let Some(path) = &args.file {
        let file = log_file::create(path, &InUse::by([], &[]))?;
        sessions.export(&run.id, file).await?
    } else {
        let mut log = Vec::new();
        let exported = sessions.export(&run.id, &mut log).await;
        printer.out_json().append(&mut log);
        exported?
    };
    match exported.damage {
        Some(error) => Err(Error::Failed(error.to_string())),
        None => Ok(()),
    }
}

async fn remove(args: &RemoveArgs, printer: &Printer) -> Result<(), Error> {
    let Some(sessions) = Sessions::existing(&args.data)? else {
        return args.names.first().map_or(Ok(()), |name| Err(unknown(name)));
    };
    let mut found = Vec::new();
    if let Some(age) = args.older_than {
        found = old(&sessions, age).await?;
    } else {
        for name in &args.names {
            found.push(sessions.get(name).await?);
        }
    }
    let mut count = 0;
    for session in &found {
        let _hold = match sessions.hold(&session.name).await {
            // A conversation in which nothing was said for long.
            Err(_) if args.older_than.is_some() => continue,
            hold => hold?,
        };
        sessions.forget(session).await?;
        count += 1;
    }
    if args.older_than.is_some() {
        let removed = counted(count, "session");
        printer.progress(&format!("removed {removed}\n"));
    }
    sessions.flush().await;
    Ok(())
}

/// The sessions that were not used for this time and are not in progress.
async fn old(sessions: &Sessions, age: Duration) -> Result<Vec<Session>, Error> {
    let Some(before) = SystemTime::now().checked_sub(age) else {
        return Ok(Vec::new());
    };
    let mut all = sessions.all().await?;
    all.retain(|session| {
        let is_driven = session.runs.values().any(|run| run.is_driven);
        session.updated() <= before && !is_driven
    });
    Ok(all)
}

async fn vacuum(data: &DataArgs) -> Result<(), Error> {
    let Some(sessions) = Sessions::existing(data)? else {
        return Ok(());
    };
    let done = sessions.journal.vacuum().await;
    done.map_err(|error| Error::Failed(error.to_string()))
}
