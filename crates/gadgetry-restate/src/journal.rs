//! The journal of the runs of one workflow: what the driver records goes to the workflow's handler, which keeps it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use gadgetry::log::Header;
use gadgetry::proto::run::Input;
use gadgetry::proto::time::Time;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::batch::{MAX_ENTRY, WrittenWhat};
use crate::known::Known;
use gadgetry::journal::{
    Durability, Journal, JournalError, Message, Opened, Progress, Recorder, RunId,
};

/// What the driver sends to the handler.
pub(crate) enum Note {
    /// Keep these lines.
    Keep(Keep),
    /// Someone waits for what was to be kept.
    Hurry,
}

/// Lines to keep.
pub(crate) struct Keep {
    pub(crate) lines: Vec<String>,
    /// How far the run is, if that is the outermost one.
    pub(crate) progress: Option<Progress>,
    /// How many messages the driver had taken by then.
    pub(crate) taken: u64,
    /// Learns that they are kept. It is dropped if they never will be.
    pub(crate) kept: oneshot::Sender<()>,
    /// Whether someone waits for that.
    pub(crate) hurry: bool,
}

/// The journal of a run and its subagents, while this process drives them.
pub(crate) struct RestateJournal {
    root: RunId,
    known: Mutex<Known>,
    notes: mpsc::UnboundedSender<Note>,
    /// The messages to the run, until it is opened.
    inbox: Mutex<Option<mpsc::UnboundedReceiver<Message>>>,
    /// How many of them the driver has taken.
    taken: Arc<AtomicU64>,
    refused: Refused,
}

/// What was too large to be kept. Nothing is kept after it.
type Refused = Arc<Mutex<Option<TooLarge>>>;

/// A value that is too large.
struct TooLarge {
    what: &'static str,
    bytes: usize,
}

impl TooLarge {
    fn error(&self) -> JournalError {
        JournalError::TooLarge {
            what: self.what.to_owned(),
            bytes: self.bytes as u64,
            limit: MAX_ENTRY as u64,
        }
    }
}

impl RestateJournal {
    pub(crate) fn new(
        root: RunId,
        known: Known,
        notes: mpsc::UnboundedSender<Note>,
        inbox: mpsc::UnboundedReceiver<Message>,
    ) -> Self {
        Self {
            root,
            known: Mutex::new(known),
            notes,
            inbox: Mutex::new(Some(inbox)),
            taken: Arc::default(),
            refused: Refused::default(),
        }
    }

    /// The name of a run below the outermost one: empty for that, as `5.0` for a subagent.
    fn below(&self, id: &RunId) -> Result<String, JournalError> {
        let below = id.as_str().strip_prefix(self.root.as_str());
        let below = below.and_then(|below| match below.strip_prefix('/') {
            Some(name) => Some(name),
            None => below.is_empty().then_some(""),
        });
        let foreign = || {
            format!(
                "run {} does not belong to run {}",
                id.as_str(),
                self.root.as_str()
            )
        };
        below
            .map(str::to_owned)
            .ok_or_else(|| JournalError::storage(foreign()))
    }

    /// How many messages the driver has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Acquire)
    }

    /// The error about a value that was too large to be kept.
    pub(crate) fn refused(&self) -> Option<String> {
        lock(&self.refused)
            .as_ref()
            .map(|it| it.error().to_string())
    }

    fn begin(&self, id: &RunId, header: Option<&Header>) -> Result<Opened, JournalError> {
        let run = self.below(id)?;
        let known = lock(&self.known).take(&run);
        let is_new = known.is_none();
        let header = match (&known, header) {
            (Some(known), _) => known.header.clone(),
            (None, Some(header)) => header.clone(),
            (None, None) => return Err(JournalError::Unknown(id.clone())),
        };
        let mut recorder = RestateRecorder {
            run,
            is_root: *id == self.root,
            lines: Vec::new(),
            progress: None,
            taken: Arc::clone(&self.taken),
            refused: Arc::clone(&self.refused),
            notes: self.notes.clone(),
        };
        if is_new {
            recorder.line("the description of the run", WrittenWhat::Begin(&header));
        }
        let is_root = recorder.is_root;
        let mut opened = Opened::new(header, Box::new(recorder));
        opened.entries = known.map(|known| known.entries).unwrap_or_default();
        if is_root && let Some(mut inbox) = lock(&self.inbox).take() {
            let taken = Arc::clone(&self.taken);
            opened.inbox = Box::pin(futures_util::stream::poll_fn(move |cx| {
                // Restate sees to it that a run has one owner, so this stream does not end.
                let Some(message) = std::task::ready!(inbox.poll_recv(cx)) else {
                    return std::task::Poll::Pending;
                };
                taken.fetch_add(1, Ordering::AcqRel);
                std::task::Poll::Ready(Some(message))
            }));
        }
        Ok(opened)
    }

    fn remove(&self, id: &RunId) -> Result<(), JournalError> {
        let run = self.below(id)?;
        lock(&self.known).forget(&run);
        let line = WrittenWhat::Forget
            .line(&run)
            .map_err(JournalError::storage)?;
        let (kept, _) = oneshot::channel();
        let keep = Keep {
            lines: vec![line],
            progress: None,
            taken: 0,
            kept,
            hurry: false,
        };
        // It fails when the handler has ended. Then so will the driver.
        let _ = self.notes.send(Note::Keep(keep));
        Ok(())
    }
}

impl Journal for RestateJournal {
    fn open<'a>(
        &'a self,
        id: &'a RunId,
        header: Option<&'a Header>,
    ) -> BoxFuture<'a, Result<Opened, JournalError>> {
        std::future::ready(self.begin(id, header)).boxed()
    }

    fn forget<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>> {
        std::future::ready(self.remove(id)).boxed()
    }
}

/// Records one run.
struct RestateRecorder {
    run: String,
    is_root: bool,
    lines: Vec<String>,
    progress: Option<Progress>,
    taken: Arc<AtomicU64>,
    refused: Refused,
    notes: mpsc::UnboundedSender<Note>,
}

impl RestateRecorder {
    fn line(&mut self, what: &'static str, line: WrittenWhat<'_>) {
        let mut refused = lock(&self.refused);
        if refused.is_some() {
            return;
        }
        match line.line(&self.run) {
            Ok(line) if line.len() <= MAX_ENTRY => self.lines.push(line),
            Ok(line) => {
                let bytes = line.len();
                *refused = Some(TooLarge { what, bytes });
            }
            // A number that JSON has no form for, which the engine does not admit.
            Err(error) => {
                tracing::error!("{what} cannot be written: {error}");
                *refused = Some(TooLarge { what, bytes: 0 });
            }
        }
    }
}

impl Recorder for RestateRecorder {
    fn record(&mut self, time: Time, input: &Input) {
        self.line(name(input), WrittenWhat::Entry { time, input });
    }

    fn took(&mut self, message: u64) {
        self.line("a message", WrittenWhat::Took(message));
    }

    fn progress(&mut self, progress: Progress) {
        self.progress = Some(progress);
    }

    fn commit(&mut self, durability: Durability) -> BoxFuture<'static, Result<(), JournalError>> {
        if let Some(refused) = lock(&self.refused).as_ref() {
            return std::future::ready(Err(refused.error())).boxed();
        }
        let (kept, is_kept) = oneshot::channel();
        let hurry = durability == Durability::Synced;
        let keep = Keep {
            lines: std::mem::take(&mut self.lines),
            progress: self.progress.take().filter(|_| self.is_root),
            taken: self.taken.load(Ordering::Acquire),
            kept,
            hurry,
        };
        let notes = self.notes.clone();
        let is_sent = notes.send(Note::Keep(keep)).is_ok();
        async move {
            if is_sent && !hurry {
                // Deltas are kept together with what follows, until someone waits for them.
                let _ = notes.send(Note::Hurry);
            }
            is_kept
                .await
                .map_err(|_| JournalError::storage("Restate has taken the run from this worker"))
        }
        .boxed()
    }
}

/// What an input is, for a reader of an error.
fn name(input: &Input) -> &'static str {
    match input {
        Input::Delta(_) => "a part of a reply",
        Input::Done(..) => "the result of a gadget",
        Input::Decision(..) => "a decision",
        Input::Command(_) => "a command",
        Input::Report(..) => "a report of a gadget",
        Input::ModelClosed(_)
        | Input::RateLimited(_)
        | Input::ExternalSpend(_)
        | Input::Interrupted
        | Input::Tick => "an input of the run",
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How the driver ended: with the result of the run, or a failure.
pub(crate) type Ended = Result<Value, Failure>;

/// Why a run has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It never will: a status and the reason.
    Final(u16, String),
    /// This worker cannot continue it, but another one might.
    NotHere(String),
}
