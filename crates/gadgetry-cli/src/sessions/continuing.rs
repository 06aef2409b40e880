//! Continuation of a session, as a run or as a conversation.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;

use gadgetry::journal::RunId;
use gadgetry::log::load;
use gadgetry::proto::run::{Input, Output};

use super::{Details, OPTIONS, Session, Sessions};
use crate::error::Error;
use crate::options::Settings;

/// No session is stored.
pub(crate) fn no_sessions() -> Error {
    Error::input("there is no session to continue")
}

/// The latest session of the working directory.
pub(crate) fn latest_here(all: Vec<Session>) -> Result<Session, Error> {
    if all.is_empty() {
        return Err(no_sessions());
    }
    let here = env::current_dir().map_err(|error| Error::machine(&error))?;
    let is_here = |session: &Session| {
        let folder = session.folder();
        folder.is_some_and(|it| Path::new(&it) == here)
    };
    let mut all = all.into_iter();
    all.find(is_here).ok_or_else(|| {
        Error::input("there is no session of this folder to continue; `gadgetry sessions list` lists those of others, which are continued by name")
    })
}

/// The session was begun by a library, so how to continue it is unknown, or its options are damaged.
pub(crate) fn without_details(session: &Session) -> Error {
    let damage = session.runs.values().find_map(|run| run.damage.as_ref());
    if let Some(problem) = damage {
        return Error::Failed(format!(
            "session {} is damaged: {problem}; `gadgetry sessions export` writes what can be read of it",
            session.name
        ));
    }
    Error::input(format_args!(
        "session {} was not begun by `gadgetry agent`, so its options are unknown",
        session.name
    ))
}

/// Returns what is stored with the continued run: what was typed again replaces what was stored.
pub(crate) fn merged(stored: &Details, settings: &Settings) -> Result<Details, Error> {
    let mut details = Details::of(settings).map_err(|error| Error::machine(&error))?;
    for name in stored.missing(settings) {
        details.leave_out(name);
    }
    details.folder.clone_from(&stored.folder);
    details.typed.clone_from(&stored.typed);
    details.added.clone_from(&stored.added);
    details.undone.clone_from(&stored.undone);
    details.has_images |= stored.has_images;
    details.forked_from.clone_from(&stored.forked_from);
    Ok(details)
}

/// Continues in the working directory of the session. Returns the settings with paths that do not depend on it.
pub(crate) fn move_to(folder: &str, settings: Settings) -> Result<Settings, Error> {
    let settings = settings.in_folder(Path::new(""), &OPTIONS);
    let settings = settings.map_err(|error| Error::machine(&error))?;
    env::set_current_dir(folder).map_err(|error| {
        Error::input(format_args!(
            "cannot continue in the session's working directory {folder}: {error}"
        ))
    })?;
    Ok(settings)
}

/// A note about options that the session did not keep and that are `missing`.
pub(crate) fn not_kept(missing: &[&str]) -> Option<String> {
    let names: BTreeSet<String> = missing.iter().map(|name| format!("--{name}")).collect();
    let names: Vec<String> = names.into_iter().collect();
    (!names.is_empty()).then(|| {
        let names = names.join(" and ");
        format!("{names} may contain a key and was not kept; give it again if the server needs it")
    })
}

/// Replies that the run has read, without one that will be requested again.
pub(crate) async fn replies_read(sessions: &Sessions, run: &RunId) -> Result<usize, Error> {
    let mut log = Vec::new();
    sessions.export(run, &mut log).await?;
    let mut run = load(&log[..]).map_err(Error::input)?;
    if !run.pending().is_empty() {
        // What the driver does first.
        run.handle(run.now(), Input::Interrupted)
            .map_err(Error::input)?;
    }
    let mut requests = 0;
    loop {
        match run.poll() {
            Output::Send(_) => requests += 1,
            Output::Wait(_) | Output::Finished(_) => break,
            Output::Event(_)
            | Output::CloseModel
            | Output::Start(_)
            | Output::Cancel(_)
            | Output::Ask(_) => {}
        }
    }
    let read = run.iterations().saturating_sub(requests);
    Ok(usize::try_from(read).unwrap_or(usize::MAX))
}
