//! A journal in memory.

use std::collections::{BTreeMap, btree_map};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use futures_util::StreamExt as _;
use gadgetry_proto::run::Input;
use gadgetry_proto::time::Time;
use tokio::sync::mpsc;

use crate::journal::{
    Checkpoint, Durability, Journal, JournalError, Opened, Recorder, RunId, RunMessage,
    RunMessageContent, RunProgress,
};
use crate::log::{Entry, LogHeader};

/// A journal that lasts as long as its process: for tests, and for programs that only need to resume a run that they dropped.
///
/// ```
/// use gadgetry::journal::MemoryJournal;
/// use gadgetry::{Agent, ScriptedModel};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let journal = MemoryJournal::default();
/// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?; // it has one reply
/// let agent = Agent::builder().model(model).build()?;
/// for _ in 0..2 {
///     let run = agent.durable(&journal).run_id("sum").ask("What is 2+2?").await?;
///     assert_eq!(run.text().await?, "4");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct MemoryJournal(Arc<Mutex<BTreeMap<RunId, StoredRun>>>);

/// Kept data of a run.
struct StoredRun {
    header: LogHeader,
    entries: Vec<Entry>,
    checkpoint: Option<(usize, Checkpoint)>,
    progress: RunProgress,
    /// Messages that have not become an input.
    messages: Vec<RunMessage>,
    next_message: u64,
    /// The inbox of the owner, if the run has one.
    inbox: Option<mpsc::UnboundedSender<RunMessage>>,
    is_owned: bool,
}

impl MemoryJournal {
    fn runs(&self) -> MutexGuard<'_, BTreeMap<RunId, StoredRun>> {
        // No code runs while it is locked that could panic in between.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the progress of a run; `None` if there is no such run.
    pub fn progress(&self, id: &RunId) -> Option<RunProgress> {
        Some(self.runs().get(id)?.progress.clone())
    }

    /// Sends a message to a run, now or when it is next opened.
    ///
    /// # Errors
    ///
    /// [`JournalError::Unknown`] if there is no such run.
    pub fn send(&self, id: &RunId, content: RunMessageContent) -> Result<(), JournalError> {
        let mut runs = self.runs();
        let run = runs
            .get_mut(id)
            .ok_or_else(|| JournalError::Unknown(id.clone()))?;
        let message = RunMessage {
            id: run.next_message,
            content,
        };
        run.next_message += 1;
        run.messages.push(message.clone());
        if let Some(inbox) = &run.inbox {
            // It fails if the owner has ended; then the next one reads it.
            let _ = inbox.send(message);
        }
        Ok(())
    }
}

impl Journal for MemoryJournal {
    fn open<'a>(
        &'a self,
        id: &'a RunId,
        header: Option<&'a LogHeader>,
    ) -> BoxFuture<'a, Result<Opened, JournalError>> {
        Box::pin(async move {
            let mut runs = self.runs();
            let begin = |header: &LogHeader| StoredRun {
                header: header.clone(),
                entries: Vec::new(),
                checkpoint: None,
                progress: RunProgress::default(),
                messages: Vec::new(),
                next_message: 0,
                inbox: None,
                is_owned: false,
            };
            let run = match (runs.entry(id.clone()), header) {
                (btree_map::Entry::Occupied(run), _) => run.into_mut(),
                (btree_map::Entry::Vacant(place), Some(header)) => place.insert(begin(header)),
                (btree_map::Entry::Vacant(_), None) => {
                    return Err(JournalError::Unknown(id.clone()));
                }
            };
            if run.is_owned {
                return Err(JournalError::Owned {
                    run: id.clone(),
                    owner: "this process".to_owned(),
                });
            }
            run.is_owned = true;
            let (sender, mut inbox) = mpsc::unbounded_channel();
            for message in &run.messages {
                // The receiver is in this function.
                let _ = sender.send(message.clone());
            }
            run.inbox = Some(sender);
            let after = run.checkpoint.as_ref().map_or(0, |(at, _)| *at);
            let inbox = futures_util::stream::poll_fn(move |cx| inbox.poll_recv(cx));
            Ok(Opened {
                header: run.header.clone(),
                checkpoint: run.checkpoint.as_ref().map(|(_, it)| it.clone()),
                entries: run.entries.get(after..).unwrap_or_default().to_vec(),
                recorder: Box::new(MemoryRecorder {
                    journal: self.clone(),
                    run: id.clone(),
                    recorded: Vec::new(),
                    taken: Vec::new(),
                    progress: None,
                    checkpoint: None,
                }),
                inbox: inbox.boxed(),
            })
        })
    }

    fn forget<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>> {
        Box::pin(async move {
            let mut runs = self.runs();
            if runs.get(id).is_some_and(|run| run.is_owned) {
                return Err(JournalError::Owned {
                    run: id.clone(),
                    owner: "this process".to_owned(),
                });
            }
            let below = format!("{id}/");
            runs.retain(|other, _| other != id && !other.as_str().starts_with(&below));
            Ok(())
        })
    }
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.runs().keys()).finish()
    }
}

struct MemoryRecorder {
    journal: MemoryJournal,
    run: RunId,
    /// Entries that are not committed.
    recorded: Vec<Entry>,
    taken: Vec<u64>,
    progress: Option<RunProgress>,
    checkpoint: Option<Checkpoint>,
}

impl Recorder for MemoryRecorder {
    fn record(&mut self, time: Time, input: &Input) {
        let input = input.clone();
        self.recorded.push(Entry { time, input });
    }

    fn took(&mut self, message: u64) {
        self.taken.push(message);
    }

    fn progress(&mut self, progress: RunProgress) {
        self.progress = Some(progress);
    }

    fn commit(&mut self, _: Durability) -> BoxFuture<'static, Result<(), JournalError>> {
        let mut runs = self.journal.runs();
        let Some(run) = runs.get_mut(&self.run) else {
            let lost = JournalError::Lost {
                run: self.run.clone(),
            };
            return Box::pin(std::future::ready(Err(lost)));
        };
        run.entries.append(&mut self.recorded);
        run.messages
            .retain(|message| !self.taken.contains(&message.id));
        self.taken.clear();
        if let Some(progress) = self.progress.take() {
            run.progress = progress;
        }
        if let Some(checkpoint) = self.checkpoint.take() {
            run.checkpoint = Some((run.entries.len(), checkpoint));
        }
        Box::pin(std::future::ready(Ok(())))
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint) {
        self.checkpoint = Some(checkpoint);
    }
}

impl Drop for MemoryRecorder {
    fn drop(&mut self) {
        if let Some(run) = self.journal.runs().get_mut(&self.run) {
            run.is_owned = false;
            run.inbox = None;
        }
    }
}
