//! One execution of a run's workflow: first what is known, then the driver, whose inputs become steps.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::journal::OpenQuestion;
use restate_sdk::errors::{HandlerError, TerminalError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::batch::{self, Head, Outbox, Then};
use crate::hub::{Hub, Registered};
use crate::inbox::Opening;
use crate::journal::{Ended, Failure, Keep, Note, RestateJournal};
use crate::known::Known;
use crate::messages::Messages;
use crate::run::Submission;
use crate::worker::Shared;
use gadgetry::journal::{Progress, RunId};

/// How long deltas wait for company before they are kept, if nothing waits for them.
const LINGER: Duration = Duration::from_secs(1);

/// Calls that the name of a step shows.
const NAMED: usize = 10;

/// One execution of a workflow.
pub(crate) struct Session {
    worker: Arc<Shared>,
    run: RunId,
    submission: Submission,
    invocation: String,
    known: Known,
    live: Option<Live>,
    is_cancelled: bool,
    /// The questions that were open after the last step.
    questions: Vec<OpenQuestion>,
}

impl Session {
    pub(crate) fn new(
        worker: Arc<Shared>,
        run: RunId,
        submission: Submission,
        invocation: String,
    ) -> Self {
        Self {
            worker,
            run,
            submission,
            invocation,
            known: Known::default(),
            live: None,
            is_cancelled: false,
            questions: Vec::new(),
        }
    }

    /// Drives the run until something is to be kept: the first call starts the driver, with what is known by then.
    ///
    /// # Errors
    ///
    /// If the inbox of the run cannot be reached, or the agent here is not the one that began it; Restate tries again.
    pub(crate) async fn next_batch(&mut self) -> Result<String, HandlerError> {
        if self.live.is_none() {
            let live = self.start().await?;
            self.live = Some(live);
        }
        let Some(live) = &mut self.live else {
            return Err(TerminalError::new("the run has no driver").into());
        };
        let heartbeat = self.worker.suspend_after / 3;
        live.next_batch(heartbeat, &self.questions).await
    }

    /// Takes a batch that Restate has: one that is known from before, or the last of [`Session::next_batch`].
    pub(crate) fn keep(&mut self, batch: &str) -> Result<Head, TerminalError> {
        let damaged =
            |problem| TerminalError::new(format!("run {}: a step is damaged: {problem}", self.run));
        let (head, lines) = batch::read(batch).map_err(damaged)?;
        match &mut self.live {
            Some(live) => live.acknowledge(),
            None => self.known.add(lines).map_err(damaged)?,
        }
        if let Some(questions) = &head.questions {
            self.questions.clone_from(questions);
        }
        Ok(head)
    }

    /// A message has come.
    pub(crate) fn wake(&self) {
        if let Some(live) = &self.live {
            live.registered.wake();
        }
    }

    /// The workflow was cancelled in Restate.
    pub(crate) fn cancel(&mut self) {
        self.is_cancelled = true;
        if let Some(live) = &self.live {
            live.messages.cancel();
        }
    }

    async fn start(&mut self) -> Result<Live, HandlerError> {
        let worker = &self.worker;
        let registered = Hub::register(&worker.hubs, self.run.as_str());
        let opening = Opening {
            invocation: self.invocation.clone(),
            place: worker.place(),
        };
        let stored = worker.ingress.open_inbox(&self.run, &opening).await?;
        let (messages, receiver) = Messages::new(worker.ingress.clone(), self.run.clone());
        let (sender, notes) = mpsc::unbounded_channel();
        messages.deliver(stored, |message| self.known.has_taken(message));
        if self.is_cancelled {
            messages.cancel();
        }
        let known = std::mem::take(&mut self.known);
        let journal = Arc::new(RestateJournal::new(
            self.run.clone(),
            known,
            sender,
            receiver,
        ));
        let job = Job {
            run: self.run.clone(),
            submission: self.submission.clone(),
            journal: Arc::clone(&journal),
            events: Arc::clone(registered.hub()),
        };
        let driver = tokio::spawn((worker.drive)(job));
        let messages = Arc::new(messages);
        let fetching = tokio::spawn(Arc::clone(&messages).fetch(Arc::clone(registered.hub())));
        Ok(Live {
            journal,
            notes: Some(notes),
            outbox: Outbox::default(),
            progress: Progress::default(),
            taken: 0,
            ended: None,
            driver: Task(driver),
            messages,
            registered,
            _fetching: Task(fetching),
        })
    }
}

/// What a driver is given.
pub(crate) struct Job {
    pub(crate) run: RunId,
    pub(crate) submission: Submission,
    pub(crate) journal: Arc<RestateJournal>,
    pub(crate) events: Arc<Hub>,
}

/// A run that is being driven here.
struct Live {
    journal: Arc<RestateJournal>,
    notes: Option<mpsc::UnboundedReceiver<Note>>,
    outbox: Outbox<oneshot::Sender<()>>,
    progress: Progress,
    /// How many messages the driver had taken when it made that progress.
    taken: u64,
    ended: Option<Ended>,
    driver: Task<Ended>,
    messages: Arc<Messages>,
    registered: Registered,
    _fetching: Task<()>,
}

impl Live {
    /// Waits until something is to be kept, the driver has ended, or `heartbeat` has passed: an invocation that says
    /// nothing for long would be suspended, and its work interrupted.
    async fn next_batch(
        &mut self,
        heartbeat: Duration,
        asked: &[OpenQuestion],
    ) -> Result<String, HandlerError> {
        let mut heartbeat = pin!(sleep(heartbeat));
        let mut linger = pin!(sleep(LINGER));
        let mut is_lingering = false;
        // What was taken and not acknowledged, or had no room in the batch before this one.
        let mut hurry = !self.outbox.is_empty();
        while !hurry && self.ended.is_none() {
            let note = async {
                match &mut self.notes {
                    Some(notes) => notes.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                note = note => match note {
                    Some(note) => {
                        hurry = self.note(note);
                        if !is_lingering && !self.outbox.is_empty() {
                            is_lingering = true;
                            linger.as_mut().reset(tokio::time::Instant::now() + LINGER);
                        }
                    }
                    None => self.notes = None,
                },
                ended = &mut self.driver.0 => {
                    self.ended = Some(ended.unwrap_or_else(|error| Err(Failure::Final(500, error.to_string()))));
                }
                () = &mut linger, if is_lingering => hurry = true,
                () = &mut heartbeat => {
                    // Time enough to act on what it has taken: it has changed nothing.
                    self.taken = self.journal.taken();
                    break;
                }
            }
        }
        while let Some(Ok(note)) = self.notes.as_mut().map(mpsc::UnboundedReceiver::try_recv) {
            self.note(note);
        }
        if let Some(Err(Failure::NotHere(why))) = &self.ended {
            // Restate tries again, after a while.
            return Err(std::io::Error::other(why.clone()).into());
        }
        let (lines, is_all) = self.outbox.batch();
        let then = if is_all { self.then() } else { self.work() };
        let questions = &self.progress.questions;
        let head = Head {
            version: batch::VERSION,
            then,
            questions: (questions != asked).then(|| questions.clone()),
        };
        batch::write(&head, &lines).map_err(|error| TerminalError::new(error.to_string()).into())
    }

    /// Returns whether someone waits.
    fn note(&mut self, note: Note) -> bool {
        match note {
            Note::Keep(Keep {
                lines,
                progress,
                taken,
                kept,
                hurry,
            }) => {
                self.outbox.push(lines, kept);
                if let Some(progress) = progress {
                    self.progress = progress;
                    self.taken = taken;
                }
                hurry
            }
            Note::Hurry => !self.outbox.is_empty(),
        }
    }

    fn acknowledge(&mut self) {
        for kept in self.outbox.acknowledge() {
            // It fails if no one waits for it.
            let _ = kept.send(());
        }
    }

    fn then(&self) -> Then {
        match &self.ended {
            Some(Ok(result)) => Then::End(result.clone()),
            Some(Err(Failure::Final(code, message))) => Then::Fail {
                code: *code,
                message: message.clone(),
            },
            // With a message that it has not acted upon, it does not wait for the next one.
            None if self.progress.is_waiting && self.taken == self.messages.delivered() => {
                Then::Wait {
                    message: self.messages.seen(),
                }
            }
            Some(Err(Failure::NotHere(_))) | None => self.work(),
        }
    }

    /// The name of the next step says what it waits for.
    fn work(&self) -> Then {
        let calls = &self.progress.gadgets;
        if calls.is_empty() {
            return Then::Work(format!("model/{}", self.progress.iterations.max(1)));
        }
        let shown = calls.iter().take(NAMED).map(|call| call.0.to_string());
        let mut name = format!("gadget/{}", shown.collect::<Vec<_>>().join(","));
        if calls.len() > NAMED {
            name.push_str(",…");
        }
        Then::Work(name)
    }
}

/// A task that ends with its owner.
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
