//! Runs from outside: submit, follow, answer, cancel.

use std::collections::VecDeque;
use std::time::Duration;

use gadgetry::Event;
use gadgetry::journal::{OpenQuestion, QuestionRef, RunMessageContent};
use gadgetry::proto::run::{Command, Decision};
use gadgetry::serde_json;
use reqwest::{Method, Response};
use serde::Deserialize;
use tokio::time::sleep;

use crate::error::RestateError;
use crate::ingress::{self, Ingress};
use crate::protocol::{DRIVE_HEADER, RUNS, RunOutcome, Submission};

/// The status of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunStatus {
    /// The run works, or is about to.
    Running,
    /// These questions are open. Other work may be in progress meanwhile.
    Waiting(Vec<OpenQuestion>),
    /// The run has ended.
    Ended(Box<RunOutcome>),
    /// The run cannot be continued.
    Failed {
        /// The HTTP status: 413 if a value was too large to be kept.
        code: u16,
        /// The reason.
        message: String,
    },
}

/// The status of the ingress's answer about a run without a result.
const NOT_READY: u16 = 470;

/// Time before a lost worker is looked for again.
const RECONNECT_AFTER: Duration = Duration::from_millis(200);

/// Reaches runs through the ingress of a Restate server.
///
/// ```no_run
/// use gadgetry_restate::Client;
///
/// # async fn submit() -> Result<(), gadgetry_restate::RestateError> {
/// let client = Client::new("http://127.0.0.1:8080")?;
/// client.submit("invoice-42", "Check invoice 42.").await?;
/// let outcome = client.result("invoice-42").await?;
/// println!("{}", outcome.summary.answer);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    ingress: Ingress,
}

impl Client {
    /// Makes a client of the ingress at `url`, such as `http://127.0.0.1:8080`.
    ///
    /// # Errors
    ///
    /// [`RestateError::Url`] if it is invalid.
    pub fn new(url: &str) -> Result<Self, RestateError> {
        Ok(Self {
            ingress: Ingress::new(url)?,
        })
    }

    /// Begins a run, and does not wait for it. Returns `false` if there was a run of this id, which nothing changes.
    ///
    /// # Errors
    ///
    /// If Restate cannot be reached, or knows no worker.
    pub async fn submit(&self, run: &str, prompt: &str) -> Result<bool, RestateError> {
        #[derive(Deserialize)]
        struct Accepted {
            status: String,
        }
        let submission = Submission {
            prompt: prompt.to_owned(),
        };
        let path = ["restate", "send", RUNS, run, "run"];
        let request = self.ingress.request(Method::POST, &path);
        let accepted: Accepted = ingress::answer(ingress::json(request, &submission)?).await?;
        Ok(accepted.status == "Accepted")
    }

    /// Waits for the end of a run.
    ///
    /// # Errors
    ///
    /// [`RestateError::Refused`] with the reason if the run has failed, and [`RestateError::Unknown`].
    ///
    /// Cancel safety: nothing happens to the run.
    pub async fn result(&self, run: &str) -> Result<RunOutcome, RestateError> {
        let path = ["restate", "workflow", RUNS, run, "attach"];
        let request = self.ingress.request(Method::GET, &path);
        ingress::answer(request)
            .await
            .map_err(|error| known(run, error))
    }

    /// Reads the status of a run.
    ///
    /// # Errors
    ///
    /// [`RestateError::Unknown`] if there is no such run.
    pub async fn status(&self, run: &str) -> Result<RunStatus, RestateError> {
        let path = ["restate", "workflow", RUNS, run, "output"];
        let request = self.ingress.request(Method::GET, &path);
        match ingress::answer::<RunOutcome>(request).await {
            Ok(outcome) => return Ok(RunStatus::Ended(Box::new(outcome))),
            Err(RestateError::Refused { code, .. }) if code == NOT_READY => {}
            Err(RestateError::Refused { code: 404, .. }) => {
                return Err(RestateError::Unknown(run.to_owned()));
            }
            Err(RestateError::Refused { code, message }) => {
                return Ok(RunStatus::Failed { code, message });
            }
            Err(error) => return Err(error),
        }
        let request = self
            .ingress
            .request(Method::POST, &[RUNS, run, "questions"]);
        let questions: Vec<OpenQuestion> = ingress::answer(request).await?;
        if questions.is_empty() {
            return Ok(RunStatus::Running);
        }
        Ok(RunStatus::Waiting(questions))
    }

    /// Answers a question of a run. An answer to a question that is not open changes nothing.
    ///
    /// # Errors
    ///
    /// [`RestateError::Refused`] if the run has ended.
    pub async fn answer(
        &self,
        run: &str,
        question: QuestionRef,
        decision: Decision,
    ) -> Result<(), RestateError> {
        let answer = RunMessageContent::Answer { question, decision };
        self.ingress.put(run, &answer).await?;
        Ok(())
    }

    /// Cancels a run: its gadgets are cancelled, and it ends with what is known by then.
    ///
    /// # Errors
    ///
    /// As [`Client::answer`].
    pub async fn cancel(&self, run: &str) -> Result<(), RestateError> {
        let cancel = RunMessageContent::Command(Command::Cancel);
        self.ingress.put(run, &cancel).await?;
        Ok(())
    }

    /// Follows the events of a run, from the one with the number `from`.
    ///
    /// They come from the worker that drives the run. If that dies, the next worker continues from what was kept: events
    /// that the first one had not passed on are lost, and numbers of events that were not kept are used again. The run
    /// loses nothing.
    pub fn follow(&self, run: &str, from: u64) -> Followed {
        Followed {
            client: self.clone(),
            run: run.to_owned(),
            next: from,
            drive: None,
            response: None,
            buffer: Vec::new(),
            events: VecDeque::new(),
        }
    }
}

fn known(run: &str, error: RestateError) -> RestateError {
    if matches!(error, RestateError::Refused { code: 404, .. }) {
        return RestateError::Unknown(run.to_owned());
    }
    error
}

/// The events of a run, from [`Client::follow`].
#[derive(Debug)]
pub struct Followed {
    client: Client,
    run: String,
    /// The number of the next event.
    next: u64,
    /// The drive of the run that its events come from.
    drive: Option<String>,
    response: Option<Response>,
    /// The beginning of a line.
    buffer: Vec<u8>,
    events: VecDeque<Event>,
}

impl Followed {
    /// Waits for the next event. `None`: the run has ended.
    ///
    /// # Errors
    ///
    /// [`RestateError::Unknown`] if there is no such run. A connection that breaks is not an error.
    ///
    /// Cancel safety: nothing is lost.
    pub async fn next(&mut self) -> Result<Option<Event>, RestateError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                self.next = event.seq + 1;
                return Ok(Some(event));
            }
            let Some(response) = &mut self.response else {
                if self.has_ended().await? {
                    return Ok(None);
                }
                self.connect().await;
                if self.response.is_none() {
                    sleep(RECONNECT_AFTER).await;
                }
                continue;
            };
            if let Ok(Some(chunk)) = response.chunk().await {
                self.take(&chunk);
            } else {
                self.response = None;
                self.buffer.clear();
            }
        }
    }

    fn take(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
        let Some(end) = self.buffer.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        let rest = self.buffer.split_off(end + 1);
        for line in self.buffer.split(|byte| *byte == b'\n') {
            // A worker of a newer version may have events of other kinds.
            let event: Option<Event> = serde_json::from_slice(line).ok();
            self.events
                .extend(event.filter(|event| event.seq >= self.next));
        }
        self.buffer = rest;
    }

    async fn has_ended(&self) -> Result<bool, RestateError> {
        let path = ["restate", "workflow", RUNS, &self.run, "output"];
        let request = self.client.ingress.request(Method::GET, &path);
        match ingress::send(request).await {
            Ok(_) => Ok(true),
            Err(RestateError::Refused { code, .. }) if code == NOT_READY => Ok(false),
            Err(RestateError::Refused { code: 404, .. }) => {
                Err(RestateError::Unknown(self.run.clone()))
            }
            Err(RestateError::Refused { code, .. }) => Ok(code <= 500),
            // It will be back.
            Err(_) => Ok(false),
        }
    }

    /// Connects to the worker that drives the run, if there is one.
    async fn connect(&mut self) {
        let ingress = &self.client.ingress;
        let Ok(Some(worker)) = ingress.worker_of(&self.run).await else {
            return;
        };
        let from = self.next.to_string();
        let mut query = vec![("run", self.run.as_str()), ("from", &from)];
        query.extend(self.drive.as_deref().map(|drive| ("drive", drive)));
        let Some(request) = ingress.to_worker(Method::GET, &worker, "events", &query) else {
            return;
        };
        let Ok(response) = ingress::send(request).await else {
            return;
        };
        let drive = response.headers().get(DRIVE_HEADER);
        let drive = drive.and_then(|it| it.to_str().ok()).map(str::to_owned);
        if self.drive.is_some() && drive != self.drive {
            self.next = 0;
        }
        self.drive = drive;
        self.response = Some(response);
    }
}
