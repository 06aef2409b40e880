//! The journal of the runs of one workflow: what the driver records goes to the workflow's handler, which saves it as a step.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use gadgetry::log::LogHeader;
use gadgetry::proto::run::Input;
use gadgetry::proto::time::Time;
use tokio::sync::{mpsc, oneshot};

use crate::protocol::MAX_ENTRY;
use crate::replay::ReplayedRuns;
use crate::step::LineContentRef;
use gadgetry::journal::{
    Durability, Journal, JournalError, Opened, Recorder, RunId, RunMessage, RunProgress,
};

/// A request of the driver to the handler.
pub(crate) enum JournalRequest {
    /// Save these lines.
    Save(Box<SaveRequest>),
    /// Do not wait for more lines: someone waits for those that are to be saved.
    Flush,
}

/// Lines to save.
pub(crate) struct SaveRequest {
    pub(crate) lines: Vec<String>,
    /// The progress of the run, if that is the outermost one.
    pub(crate) progress: Option<RunProgress>,
    /// Number of messages that the driver had taken by then.
    pub(crate) taken: u64,
    /// Completes when they are saved. It is dropped if they never will be.
    pub(crate) saved: oneshot::Sender<()>,
    /// Whether someone waits for that.
    pub(crate) is_urgent: bool,
}

/// The journal of a run and its subagents, while this process drives them.
pub(crate) struct RestateJournal {
    root: RunId,
    replayed: Mutex<ReplayedRuns>,
    requests: mpsc::UnboundedSender<JournalRequest>,
    /// The messages to the run, until it is opened.
    inbox: Mutex<Option<mpsc::UnboundedReceiver<RunMessage>>>,
    /// Number of them that the driver has taken.
    taken: Arc<AtomicU64>,
    refused: Refused,
}

/// The value that was too large to be kept. Nothing is kept after it.
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
        replayed: ReplayedRuns,
        requests: mpsc::UnboundedSender<JournalRequest>,
        inbox: mpsc::UnboundedReceiver<RunMessage>,
    ) -> Self {
        Self {
            root,
            replayed: Mutex::new(replayed),
            requests,
            inbox: Mutex::new(Some(inbox)),
            taken: Arc::default(),
            refused: Refused::default(),
        }
    }

    /// Returns the name of a run below the outermost one: empty for that, as `5.0` for a subagent.
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

    /// Returns the number of messages that the driver has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Acquire)
    }

    /// Returns the error about a value that was too large to be kept.
    pub(crate) fn refused(&self) -> Option<String> {
        lock(&self.refused)
            .as_ref()
            .map(|it| it.error().to_string())
    }

    fn begin(&self, id: &RunId, header: Option<&LogHeader>) -> Result<Opened, JournalError> {
        let run = self.below(id)?;
        let replayed = lock(&self.replayed).take(&run);
        let is_new = replayed.is_none();
        let header = match (&replayed, header) {
            (Some(replayed), _) => replayed.header.clone(),
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
            requests: self.requests.clone(),
        };
        if is_new {
            recorder.line("the description of the run", LineContentRef::Begin(&header));
        }
        let is_root = recorder.is_root;
        let mut opened = Opened::new(header, Box::new(recorder));
        opened.entries = replayed
            .map(|replayed| replayed.entries)
            .unwrap_or_default();
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
        lock(&self.replayed).forget(&run);
        let line = LineContentRef::Forget
            .line(&run)
            .map_err(JournalError::storage)?;
        let (saved, _) = oneshot::channel();
        let request = SaveRequest {
            lines: vec![line],
            progress: None,
            taken: 0,
            saved,
            is_urgent: false,
        };
        // It fails when the handler has ended. Then so will the driver.
        let _ = self.requests.send(JournalRequest::Save(Box::new(request)));
        Ok(())
    }
}

impl Journal for RestateJournal {
    fn open<'a>(
        &'a self,
        id: &'a RunId,
        header: Option<&'a LogHeader>,
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
    progress: Option<RunProgress>,
    taken: Arc<AtomicU64>,
    refused: Refused,
    requests: mpsc::UnboundedSender<JournalRequest>,
}

impl RestateRecorder {
    fn line(&mut self, what: &'static str, line: LineContentRef<'_>) {
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
        self.line(name(input), LineContentRef::Entry { time, input });
    }

    fn took(&mut self, message: u64) {
        self.line("a message", LineContentRef::Took(message));
    }

    fn progress(&mut self, progress: RunProgress) {
        self.progress = Some(progress);
    }

    fn commit(&mut self, durability: Durability) -> BoxFuture<'static, Result<(), JournalError>> {
        if let Some(refused) = lock(&self.refused).as_ref() {
            return std::future::ready(Err(refused.error())).boxed();
        }
        let (saved, is_saved) = oneshot::channel();
        let is_urgent = durability == Durability::Synced;
        let request = SaveRequest {
            lines: std::mem::take(&mut self.lines),
            progress: self.progress.take().filter(|_| self.is_root),
            taken: self.taken.load(Ordering::Acquire),
            saved,
            is_urgent,
        };
        let requests = self.requests.clone();
        let is_sent = requests
            .send(JournalRequest::Save(Box::new(request)))
            .is_ok();
        async move {
            if is_sent && !is_urgent {
                // Deltas are kept together with what follows, until someone waits for them.
                let _ = requests.send(JournalRequest::Flush);
            }
            is_saved
                .await
                .map_err(|_| JournalError::storage("Restate has taken the run from this worker"))
        }
        .boxed()
    }
}

/// Returns the name of an input, for a reader of an error.
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
