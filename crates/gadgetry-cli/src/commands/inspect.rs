//! `gadgetry inspect`: runs in a browser, or as a file.

use std::fs;
use std::io::{self, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gadgetry::journal::RunId;
use gadgetry::log::LogError;
use gadgetry_files as files;
use gadgetry_inspect::{Inspector, Recording, Redaction, RunEntry, html, perfetto};
use gadgetry_store::RunRecord;
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

use super::sessions::status;
use crate::cli::{DataArgs, InspectArgs, SessionName};
use crate::error::Error;
use crate::input::unreadable;
use crate::interrupts::Interrupts;
use crate::lines::one_line;
use crate::printer::Printer;
use crate::sessions::{Session, Sessions, unknown};

/// Runs in the list without an argument: the latest.
const LATEST: usize = 500;

/// Maximum characters of a prompt in the list.
const PROMPT: usize = 100;

/// Runs the command.
pub(crate) async fn run(args: &InspectArgs, printer: &Printer) -> Result<(), Error> {
    if args.html.is_none() && args.perfetto.is_none() {
        return serve(args, printer).await;
    }
    if args.runs.is_empty() {
        return Err(Error::input("name a session or a file to export"));
    }
    let mut all = Vec::new();
    for name in &args.runs {
        all.extend(recordings(Path::new(name), &args.data).await?);
    }
    let redaction = Redaction::from_env();
    if let Some(path) = &args.html {
        write(path, &html(&all, &redaction))?;
    }
    if let (Some(path), Some(last)) = (&args.perfetto, all.last()) {
        write(path, &perfetto(last, &redaction))?;
    }
    Ok(())
}

/// Writes a new file, which only its owner can read.
fn write(path: &Path, text: &str) -> Result<(), Error> {
    let written = files::create_private(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let place = path.display();
        if error.kind() == io::ErrorKind::AlreadyExists {
            Error::input(format_args!(
                "{place} exists already; remove it or name another file"
            ))
        } else {
            Error::input(format_args!("cannot write {place}: {error}"))
        }
    })
}

async fn serve(args: &InspectArgs, printer: &Printer) -> Result<(), Error> {
    let inspector = Inspector::new();
    if args.runs.is_empty() {
        list_sessions(&inspector, &args.data).await?;
    }
    for name in &args.runs {
        let path = Path::new(name);
        if path.is_file() {
            inspector.add(of_file(path).await?);
        } else {
            let (sessions, session) = of_session(path, &args.data).await?;
            for run in session.runs.values() {
                inspector.add_entry(entry(&sessions, &session.name, run));
            }
        }
    }
    let mut interrupts = Interrupts::listen().map_err(|error| Error::machine(&error))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = TcpListener::bind(address).await;
    let listener =
        listener.map_err(|error| Error::Failed(format!("cannot listen on {address}: {error}")))?;
    let address = listener
        .local_addr()
        .map_err(|error| Error::machine(&error))?;
    printer.text(&format!("{}\n", inspector.url(address)));
    printer.flush()?;
    printer.progress("open this address in a browser; Ctrl-C ends the page\n");
    let stop = async move { interrupts.next().await };
    inspector.serve(listener, stop).await;
    Ok(())
}

/// Adds the latest runs of all sessions.
async fn list_sessions(inspector: &Inspector, data: &DataArgs) -> Result<(), Error> {
    let Some(sessions) = Sessions::existing(data)? else {
        return Ok(());
    };
    let all = sessions.all().await?;
    let sessions = Arc::new(sessions);
    let mut runs: Vec<(&SessionName, &RunRecord)> = all
        .iter()
        .flat_map(|session| session.runs.values().map(|run| (&session.name, run)))
        .collect();
    runs.sort_by_key(|(_, run)| run.updated);
    for (name, run) in &runs[runs.len().saturating_sub(LATEST)..] {
        inspector.add_entry(entry(&sessions, name, run));
    }
    Ok(())
}

fn entry(sessions: &Arc<Sessions>, name: &SessionName, run: &RunRecord) -> RunEntry {
    let (sessions, id) = (Arc::clone(sessions), run.id.clone());
    RunEntry::new(title(name, run), status(run), move || {
        let (sessions, id) = (Arc::clone(&sessions), id.clone());
        Box::pin(async move { read(&sessions, &id).await })
    })
}

fn title(name: &SessionName, run: &RunRecord) -> String {
    let prompt = crate::sessions::title(run);
    let shown = match prompt.char_indices().nth(PROMPT) {
        // Half a key would not be recognised as one.
        Some((end, _)) => {
            prompt[..end]
                .rsplit_once(char::is_whitespace)
                .unwrap_or_default()
                .0
        }
        None => &prompt,
    };
    format!("{name}: {}", one_line(shown))
}

async fn read(sessions: &Sessions, run: &RunId) -> Result<Recording, LogError> {
    let mut log = Vec::new();
    let exported = sessions.journal.export(run, &mut log).await;
    exported.map_err(io::Error::other)?;
    blocking(move || Recording::read(&log[..])).await
}

/// Reads a recording without delaying other tasks.
async fn blocking(
    read: impl FnOnce() -> Result<Recording, LogError> + Send + 'static,
) -> Result<Recording, LogError> {
    let read = spawn_blocking(read).await;
    read.unwrap_or_else(|error| Err(io::Error::other(error).into()))
}

/// The runs of a file or of a session.
async fn recordings(path: &Path, data: &DataArgs) -> Result<Vec<Recording>, Error> {
    if path.is_file() {
        return Ok(vec![of_file(path).await?]);
    }
    let (sessions, session) = of_session(path, data).await?;
    let mut all = Vec::new();
    for run in session.runs.values() {
        let recording = read(&sessions, &run.id).await;
        let recording = recording.map_err(|error| Error::Failed(error.to_string()))?;
        all.push(recording.with_title(title(&session.name, run)));
    }
    Ok(all)
}

async fn of_file(path: &Path) -> Result<Recording, Error> {
    let place = path.display();
    let file = files::open(path).map_err(|error| unreadable(&place, &error))?;
    let read = blocking(move || Recording::read(BufReader::new(file))).await;
    let recording = read.map_err(|error| {
        if let LogError::Io(error) = error {
            unreadable(&place, &error)
        } else {
            Error::at(&place, error)
        }
    })?;
    let title = format!("{}: {}", name_of(path), recording.title());
    Ok(recording.with_title(title))
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().map(PathBuf::from).unwrap_or_default();
    name.display().to_string()
}

async fn of_session(path: &Path, data: &DataArgs) -> Result<(Arc<Sessions>, Session), Error> {
    let is_path = path.components().count() > 1 || fs::symlink_metadata(path).is_ok();
    let name = path.to_str().and_then(|it| it.parse::<SessionName>().ok());
    let Some(name) = name.filter(|_| !is_path) else {
        let place = path.display();
        return Err(Error::input(format_args!(
            "{place} is neither a file nor the name of a session"
        )));
    };
    let sessions = Sessions::existing(data)?.ok_or_else(|| unknown(&name))?;
    let session = sessions.get(&name).await?;
    Ok((Arc::new(sessions), session))
}
