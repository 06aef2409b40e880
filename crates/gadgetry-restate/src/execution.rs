//! One execution of a run's workflow: first the steps that Restate replays, then the driver, whose inputs become new steps.
//!
//! ```text
//! Restate            handler (workflow)        execution                  driver
//!   │ ── invoke ──────► │                         │                          │
//!   │ ◄─ step 1 ──────► │ ── take(result) ──────► │ replayed: nothing runs   │
//!   │ ◄─ step 2 ──────► │ ── take(result) ──────► │ replayed                 │
//!   │                   │ ── next_step ─────────► │ ── the journal so far ─► │ plays it, continues
//!   │                   │                         │ ◄─ lines to save ─────── │ waits for them
//!   │ ◄─ step 3 ─────── │ ◄─ lines as one result  │                          │
//!   │ ── stored ──────► │ ── take(result) ──────► │ ── saved ──────────────► │ acts on them
//! ```
//!
//! A step costs a round trip and a write to Restate's log, and a reply has hundreds of deltas. So a step takes all lines that
//! have come by then, and deltas that no one waits for may be [collected](LINGER) first.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::journal::OpenQuestion;
use restate_sdk::errors::{HandlerError, TerminalError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::context::WorkerContext;
use crate::delivery::Delivery;
use crate::driver::{DriveError, DriveJob, DriveResult};
use crate::events::{EventHub, RegisteredHub};
use crate::journal::{JournalRequest, RestateJournal, SaveRequest};
use crate::protocol::{InboxOpening, Submission};
use crate::replay::ReplayedRuns;
use crate::step::{self, NextAction, StepBuffer, StepHead};
use gadgetry::journal::{RunId, RunProgress};

/// Maximum time to collect deltas before they are saved, if nothing waits for them.
const LINGER: Duration = Duration::from_secs(1);

/// Maximum number of calls in the name of a step.
const NAMED_CALLS: usize = 10;

/// One execution of a workflow.
pub(crate) struct Execution {
    worker: Arc<WorkerContext>,
    run: RunId,
    submission: Submission,
    invocation: String,
    replayed: ReplayedRuns,
    live: Option<Live>,
    is_cancelled: bool,
    /// The questions that were open after the last step.
    questions: Vec<OpenQuestion>,
}

impl Execution {
    pub(crate) fn new(
        worker: Arc<WorkerContext>,
        run: RunId,
        submission: Submission,
        invocation: String,
    ) -> Self {
        Self {
            worker,
            run,
            submission,
            invocation,
            replayed: ReplayedRuns::default(),
            live: None,
            is_cancelled: false,
            questions: Vec::new(),
        }
    }

    /// Drives the run until something is to be saved, and returns the result of the step. The first call starts the driver, with the
    /// steps that were taken by then.
    ///
    /// # Errors
    ///
    /// If the inbox of the run cannot be reached, or the agent here is not the one that began it; Restate tries again.
    pub(crate) async fn next_step(&mut self) -> Result<String, HandlerError> {
        if self.live.is_none() {
            let live = self.start().await?;
            self.live = Some(live);
        }
        let Some(live) = &mut self.live else {
            return Err(TerminalError::new("the run has no driver").into());
        };
        let heartbeat = self.worker.suspend_after / 3;
        live.next_step(heartbeat, &self.questions).await
    }

    /// Takes the result of a step that Restate has: one that is replayed, or the last of [`Execution::next_step`].
    pub(crate) fn take(&mut self, result: &str) -> Result<StepHead, TerminalError> {
        let damaged =
            |problem| TerminalError::new(format!("run {}: a step is damaged: {problem}", self.run));
        let (head, lines) = step::read(result).map_err(damaged)?;
        match &mut self.live {
            Some(live) => live.acknowledge(),
            None => self.replayed.add(lines).map_err(damaged)?,
        }
        if let Some(questions) = &head.questions {
            self.questions.clone_from(questions);
        }
        Ok(head)
    }

    /// Wakes the driver: a message has come.
    pub(crate) fn wake(&self) {
        if let Some(live) = &self.live {
            live.events.wake();
        }
    }

    /// Cancels the run: its workflow was cancelled in Restate.
    pub(crate) fn cancel(&mut self) {
        self.is_cancelled = true;
        if let Some(live) = &self.live {
            live.delivery.cancel();
        }
    }

    async fn start(&mut self) -> Result<Live, HandlerError> {
        let worker = &self.worker;
        let events = EventHub::register(&worker.hubs, self.run.as_str());
        let opening = InboxOpening {
            invocation: self.invocation.clone(),
            worker: worker.address.clone(),
        };
        let stored = worker.ingress.open_inbox(&self.run, &opening).await?;
        let (delivery, receiver) = Delivery::new(worker.ingress.clone(), self.run.clone());
        let (sender, requests) = mpsc::unbounded_channel();
        delivery.deliver(stored, |message| self.replayed.has_taken(message));
        if self.is_cancelled {
            delivery.cancel();
        }
        let replayed = std::mem::take(&mut self.replayed);
        let journal = Arc::new(RestateJournal::new(
            self.run.clone(),
            replayed,
            sender,
            receiver,
        ));
        let job = DriveJob {
            run: self.run.clone(),
            submission: self.submission.clone(),
            journal: Arc::clone(&journal),
            events: Arc::clone(events.hub()),
        };
        let driver = tokio::spawn((worker.drive)(job));
        let delivery = Arc::new(delivery);
        let fetching = tokio::spawn(Arc::clone(&delivery).fetch(Arc::clone(events.hub())));
        Ok(Live {
            journal,
            requests: Some(requests),
            buffer: StepBuffer::default(),
            progress: RunProgress::default(),
            taken: 0,
            ended: None,
            driver: Task(driver),
            delivery,
            events,
            _fetching: Task(fetching),
        })
    }
}

/// A run that is being driven here.
struct Live {
    journal: Arc<RestateJournal>,
    requests: Option<mpsc::UnboundedReceiver<JournalRequest>>,
    buffer: StepBuffer<oneshot::Sender<()>>,
    progress: RunProgress,
    /// Number of messages that the driver had taken when it made that progress.
    taken: u64,
    ended: Option<DriveResult>,
    driver: Task<DriveResult>,
    delivery: Arc<Delivery>,
    events: RegisteredHub,
    _fetching: Task<()>,
}

impl Live {
    /// Waits until something is to be saved, the driver has ended, or `heartbeat` has passed: an invocation that says
    /// nothing for long would be suspended, and its work interrupted.
    async fn next_step(
        &mut self,
        heartbeat: Duration,
        asked: &[OpenQuestion],
    ) -> Result<String, HandlerError> {
        let mut heartbeat = pin!(sleep(heartbeat));
        let mut linger = pin!(sleep(LINGER));
        let mut is_lingering = false;
        // What was taken and not acknowledged, or had no room in the step before this one.
        let mut is_urgent = !self.buffer.is_empty();
        while !is_urgent && self.ended.is_none() {
            let request = async {
                match &mut self.requests {
                    Some(requests) => requests.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                request = request => match request {
                    Some(request) => {
                        is_urgent = self.receive(request);
                        if !is_lingering && !self.buffer.is_empty() {
                            is_lingering = true;
                            linger.as_mut().reset(tokio::time::Instant::now() + LINGER);
                        }
                    }
                    None => self.requests = None,
                },
                ended = &mut self.driver.0 => {
                    self.ended = Some(ended.unwrap_or_else(|error| Err(DriveError::Final(500, error.to_string()))));
                }
                () = &mut linger, if is_lingering => is_urgent = true,
                () = &mut heartbeat => {
                    // Time enough to act on what it has taken: it has changed nothing.
                    self.taken = self.journal.taken();
                    break;
                }
            }
        }
        while let Some(Ok(request)) = self
            .requests
            .as_mut()
            .map(mpsc::UnboundedReceiver::try_recv)
        {
            self.receive(request);
        }
        if let Some(Err(DriveError::NotHere(why))) = &self.ended {
            // Restate tries again, after a while.
            return Err(std::io::Error::other(why.clone()).into());
        }
        let (lines, is_all) = self.buffer.next_lines();
        let next = if is_all {
            self.next_action()
        } else {
            self.work()
        };
        let questions = &self.progress.questions;
        let head = StepHead {
            version: step::VERSION,
            next,
            questions: (questions != asked).then(|| questions.clone()),
        };
        step::write(&head, &lines).map_err(|error| TerminalError::new(error.to_string()).into())
    }

    /// Takes a request of the driver. Returns whether someone waits for lines to be saved.
    fn receive(&mut self, request: JournalRequest) -> bool {
        match request {
            JournalRequest::Save(request) => {
                let SaveRequest {
                    lines,
                    progress,
                    taken,
                    saved,
                    is_urgent,
                } = *request;
                self.buffer.push(lines, saved);
                if let Some(progress) = progress {
                    self.progress = progress;
                    self.taken = taken;
                }
                is_urgent
            }
            JournalRequest::Flush => !self.buffer.is_empty(),
        }
    }

    fn acknowledge(&mut self) {
        for saved in self.buffer.acknowledge() {
            // It fails if no one waits for it.
            let _ = saved.send(());
        }
    }

    fn next_action(&self) -> NextAction {
        match &self.ended {
            Some(Ok(result)) => NextAction::End(result.clone()),
            Some(Err(DriveError::Final(code, message))) => NextAction::Fail {
                code: *code,
                message: message.clone(),
            },
            // With a message that it has not acted upon, it does not wait for the next one.
            None if self.progress.is_waiting && self.taken == self.delivery.delivered() => {
                NextAction::Wait {
                    message: self.delivery.seen(),
                }
            }
            Some(Err(DriveError::NotHere(_))) | None => self.work(),
        }
    }

    /// Returns the next step, whose name says what it waits for.
    fn work(&self) -> NextAction {
        let calls = &self.progress.gadgets;
        if calls.is_empty() {
            return NextAction::Work(format!("model/{}", self.progress.iterations.max(1)));
        }
        let shown = calls
            .iter()
            .take(NAMED_CALLS)
            .map(|call| call.0.to_string());
        let mut name = format!("gadget/{}", shown.collect::<Vec<_>>().join(","));
        if calls.len() > NAMED_CALLS {
            name.push_str(",…");
        }
        NextAction::Work(name)
    }
}

/// A task that ends with its owner.
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
