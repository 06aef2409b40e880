//! Runs and conversations.

use std::sync::{Arc, Mutex, PoisonError};

use gadgetry::approval::ApprovalId;
use gadgetry::{AgentHandle, AgentRun, Message};
use gadgetry_bindings::{Problem, run as shared};
use napi::Env;
use napi::bindgen_prelude::PromiseRaw;
use napi_derive::napi;
use serde_json::Value;

use crate::errors::{bad, contained, raised};
use crate::host::{Host, POLLED, with_runs};

/// A run of an agent.
#[napi]
pub struct Run {
    driven: Arc<tokio::sync::Mutex<Option<AgentRun<'static>>>>,
    handle: AgentHandle,
    id: String,
    output: Output,
    host: Arc<Host>,
}

/// The answer of a type that the run has given, as JSON.
pub(crate) type Output = Arc<Mutex<Option<Value>>>;

impl Run {
    /// Takes a run that has not begun.
    pub(crate) fn new(run: AgentRun<'static>, host: Arc<Host>, output: Output) -> Self {
        let id = run.info().id.to_string();
        with_runs(|runs| runs.insert(id.clone(), Arc::downgrade(&host)));
        Self {
            handle: run.handle(),
            driven: Arc::new(tokio::sync::Mutex::new(Some(run))),
            id,
            output,
            host,
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        with_runs(|runs| runs.remove(&self.id));
    }
}

#[napi]
impl Run {
    /// The id.
    #[napi(getter)]
    pub fn id(&self) -> String {
        self.id.clone()
    }

    /// The next events, or those of approvals, as JSON; nothing at the end.
    #[napi]
    pub fn next<'env>(
        &self,
        env: &'env Env,
        approvals_only: bool,
    ) -> napi::Result<PromiseRaw<'env, Option<String>>> {
        let (run, host) = (Arc::clone(&self.driven), Arc::clone(&self.host));
        env.spawn_future(contained(POLLED.scope(host, async move {
            let mut run = run.lock().await;
            let Some(run) = run.as_mut() else {
                return Ok(None);
            };
            let events = shared::events(run, approvals_only).await;
            if events.is_empty() {
                return Ok(None);
            }
            serde_json::to_string(&events).map(Some).map_err(bad)
        })))
    }

    /// The end of the run, after the events that are left.
    #[napi]
    pub fn finish<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Ended>> {
        let (run, host) = (Arc::clone(&self.driven), Arc::clone(&self.host));
        env.spawn_future(contained(POLLED.scope(host, async move {
            let Some(run) = run.lock().await.take() else {
                let text = "the run has been consumed, or was closed";
                return Err(raised(Problem::config(text)));
            };
            match run.finish().await {
                Ok(finished) => Ok(Ended {
                    error: None,
                    result: shared::result(&finished).to_string(),
                    conversation: (&finished).into(),
                }),
                Err(error) => {
                    let problem = Problem::run(error);
                    let error = problem.to_json().to_string();
                    let Some(finished) = problem.finished else {
                        return Err(raised(Problem::config(error)));
                    };
                    Ok(Ended {
                        error: Some(error),
                        result: shared::result(&finished).to_string(),
                        conversation: (&*finished).into(),
                    })
                }
            }
        })))
    }

    /// The answer of the demanded type, as JSON, if the run has given it.
    #[napi]
    pub fn output(&self) -> Option<String> {
        let output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.as_ref().map(Value::to_string)
    }

    /// Stops the run in order.
    #[napi]
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Drops the run, with everything that it has begun.
    #[napi]
    pub fn close(&self) {
        match self.driven.try_lock() {
            Ok(mut run) => drop(run.take()),
            Err(_) => self.handle.cancel(),
        }
    }

    /// Adds a message of the user.
    #[napi]
    pub fn inject(&self, text: String) -> napi::Result<()> {
        let injected = self.handle.inject(text);
        injected.map_err(|error| raised(Problem::classified("NotDelivered", &error)))
    }

    /// Makes the conversation shorter before the next request.
    #[napi]
    pub fn compact(&self) -> napi::Result<()> {
        let compacted = self.handle.compact();
        compacted.map_err(|error| raised(Problem::classified("NotDelivered", &error)))
    }

    /// The open approvals, as JSON.
    #[napi]
    pub fn approvals(&self) -> napi::Result<String> {
        serde_json::to_string(&self.handle.approvals()).map_err(bad)
    }

    /// Answers an approval: `once`, `session` with a rule, or `no` with a reason.
    #[napi]
    pub fn answer(
        &self,
        approval: String,
        kind: String,
        detail: Option<String>,
    ) -> napi::Result<()> {
        let approval: ApprovalId = approval
            .parse()
            .map_err(|error| raised(Problem::classified("NotDelivered", &error)))?;
        let answer = shared::answer(&kind, detail).map_err(raised)?;
        let answered = self.handle.answer(approval, answer);
        answered.map_err(|error| raised(Problem::classified("NotDelivered", &error)))
    }
}

/// The end of a run.
#[napi]
pub struct Ended {
    error: Option<String>,
    result: String,
    conversation: gadgetry::Conversation,
}

#[napi]
impl Ended {
    /// The error as JSON, if there is no answer.
    #[napi(getter)]
    pub fn error(&self) -> Option<String> {
        self.error.clone()
    }

    /// The result as JSON.
    #[napi(getter)]
    pub fn result(&self) -> String {
        self.result.clone()
    }

    /// Returns the conversation after the run.
    #[napi(getter)]
    pub fn conversation(&self) -> Conversation {
        Conversation(self.conversation.clone())
    }
}

/// The messages of several runs.
#[napi]
pub struct Conversation(pub(crate) gadgetry::Conversation);

#[napi]
impl Conversation {
    /// An empty one.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self(gadgetry::Conversation::default())
    }

    /// Reads what [`Conversation::to_json`] has written.
    #[napi(factory)]
    pub fn from_json(text: String) -> napi::Result<Self> {
        serde_json::from_str(&text).map(Self).map_err(bad)
    }

    /// Makes one of messages, as JSON.
    #[napi(factory)]
    pub fn from_messages(messages: String) -> napi::Result<Self> {
        let messages: Vec<Message> = serde_json::from_str(&messages).map_err(bad)?;
        Ok(Self(messages.into()))
    }

    /// The whole conversation as JSON.
    #[napi]
    pub fn to_json(&self) -> napi::Result<String> {
        serde_json::to_string(&self.0).map_err(bad)
    }

    /// The messages as JSON.
    #[napi]
    pub fn messages(&self) -> napi::Result<String> {
        serde_json::to_string(&self.0.messages()).map_err(bad)
    }

    /// The number of messages.
    #[napi(getter)]
    pub fn length(&self) -> u32 {
        u32::try_from(self.0.messages().len()).unwrap_or(u32::MAX)
    }
}
