//! Calls of functions of JavaScript, from any thread, with the contexts of gadgets.
//!
//! A run has one function, `dispatch(kind, number, target, json)`, to which all its calls go. It returns at once; what was called answers
//! with [`settle`], by the number. So a function may be synchronous or not, and whatever it throws is caught in JavaScript.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gadgetry::{ExecutionContext, Human, HumanQuestion};
use gadgetry_bindings::Problem;
use napi::bindgen_prelude::{FnArgs, Function, PromiseRaw};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status};
use napi_derive::napi;
use serde_json::json;
use tokio::sync::oneshot;

use crate::errors::{bad, contained, raised};

/// Arguments of the function: kind, number, target, JSON.
pub(crate) type Arguments = FnArgs<(String, i64, u32, String)>;

/// The function that a run is given.
pub(crate) type Dispatch<'env> = Function<'env, Arguments, ()>;

/// The same, for any thread. It is weak: only what is awaited keeps the process alive.
type Threadsafe = ThreadsafeFunction<Arguments, (), Arguments, Status, false, true>;

/// Result of a function: a word for its kind, and its text.
pub(crate) type Answer = (String, String);

/// Calls that have no answer yet, by their numbers.
static CALLS: Mutex<Option<HashMap<i64, Pending>>> = Mutex::new(None);

static NUMBERS: AtomicI64 = AtomicI64::new(0);

struct Pending {
    sender: oneshot::Sender<Answer>,
    context: Option<ExecutionContext>,
}

fn with_calls<T>(change: impl FnOnce(&mut HashMap<i64, Pending>) -> T) -> T {
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    change(calls.get_or_insert_default())
}

/// The functions of a run.
pub(crate) struct Host(Threadsafe);

impl Host {
    pub(crate) fn new(dispatch: Dispatch<'_>) -> napi::Result<Self> {
        let dispatch = dispatch
            .build_threadsafe_function()
            .weak::<true>()
            .build()?;
        Ok(Self(dispatch))
    }

    fn send(&self, kind: &str, number: i64, target: u32, json: String) -> bool {
        let arguments = (kind.to_owned(), number, target, json).into();
        self.0
            .call(arguments, ThreadsafeFunctionCallMode::NonBlocking)
            == Status::Ok
    }

    /// Starts a function.
    pub(crate) fn start(
        self: &Arc<Self>,
        kind: &str,
        target: u32,
        json: String,
        context: Option<ExecutionContext>,
    ) -> Call {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        with_calls(|calls| calls.insert(number, Pending { sender, context }));
        if !self.send(kind, number, target, json) {
            with_calls(|calls| calls.remove(&number));
        }
        Call {
            number,
            receiver,
            host: Arc::clone(self),
            is_open: true,
        }
    }

    /// Calls a function, and waits for its answer in this thread, which is one of tokio.
    pub(crate) fn wait(self: &Arc<Self>, kind: &str, target: u32, json: String) -> Option<Answer> {
        let mut call = self.start(kind, target, json, None);
        call.is_open = false;
        let (_, empty) = oneshot::channel();
        let receiver = std::mem::replace(&mut call.receiver, empty);
        tokio::task::block_in_place(|| receiver.blocking_recv().ok())
    }
}

/// A function at work. Dropping it cancels that.
pub(crate) struct Call {
    number: i64,
    receiver: oneshot::Receiver<Answer>,
    host: Arc<Host>,
    is_open: bool,
}

impl Call {
    /// Waits for the answer; `None` if there will be none.
    pub(crate) async fn answer(&mut self) -> Option<Answer> {
        let answer = (&mut self.receiver).await.ok();
        self.is_open = false;
        answer
    }

    /// Aborts its signal. [`Call::answer`] then has its end.
    pub(crate) fn cancel(&self) {
        self.host.send("cancel", self.number, 0, String::new());
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.is_open {
            with_calls(|calls| calls.remove(&self.number));
            self.cancel();
        }
    }
}

/// Takes the answer of a function.
#[napi]
pub fn settle(number: i64, kind: String, text: String) {
    if let Some(pending) = with_calls(|calls| calls.remove(&number)) {
        // It fails if no one waits any more.
        let _ = pending.sender.send((kind, text));
    }
}

fn context(number: i64) -> napi::Result<ExecutionContext> {
    let context = with_calls(|calls| calls.get(&number).and_then(|call| call.context.clone()));
    context.ok_or_else(|| raised(Problem::new("NotDelivered", "the call is over")))
}

/// Facts about a call, as JSON.
#[napi]
pub fn call_info(number: i64) -> napi::Result<String> {
    let context = context(number)?;
    let run = context.run();
    let dependencies = context.dependencies().iter();
    let dependencies: serde_json::Map<String, serde_json::Value> = dependencies
        .map(|(id, text)| (id.as_str().to_owned(), json!(text.to_string())))
        .collect();
    let info = json!({
        "gadgetName": context.gadget_name(),
        "invocationId": context.invocation_id().as_str(),
        "iteration": context.iteration(),
        "depth": context.depth(),
        "idempotencyKey": context.idempotency_key(),
        "runId": run.map(|run| &*run.info().id),
        "metadata": run.map(|run| &run.info().metadata),
        "dependencies": dependencies,
        "budgetLeft": context.budget_left(),
        "reportedCost": context.reported_cost(),
    });
    Ok(info.to_string())
}

/// Reports progress of a call.
#[napi]
pub fn call_progress(number: i64, message: String) -> napi::Result<()> {
    context(number)?.progress(message);
    Ok(())
}

/// Reports US dollars that a call has cost.
#[napi]
pub fn call_report_cost(number: i64, dollars: f64) -> napi::Result<()> {
    context(number)?.report_cost(dollars).map_err(bad)
}

/// Asks the user.
#[napi]
pub fn call_ask_human(
    env: &Env,
    number: i64,
    question: String,
) -> napi::Result<PromiseRaw<'_, String>> {
    let context = context(number)?;
    env.spawn_future(contained(async move {
        let answer = context.ask_human(question).await;
        answer.map_err(|error| raised(Problem::classified("HumanUnavailable", &error)))
    }))
}

/// The hosts of the runs that are open, for functions of an agent that are called with nothing but the id of the run.
static RUNS: Mutex<Option<HashMap<String, Weak<Host>>>> = Mutex::new(None);

pub(crate) fn with_runs<T>(change: impl FnOnce(&mut HashMap<String, Weak<Host>>) -> T) -> T {
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    change(runs.get_or_insert_default())
}

tokio::task_local! {
    /// The host of the run that is polled, for functions of an agent that are called without anything.
    pub(crate) static POLLED: Arc<Host>;
}

/// The user of an agent: a function of JavaScript.
pub(crate) struct User;

impl Human for User {
    fn ask(&self, question: HumanQuestion) -> futures_util::future::BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            // A subagent has the id of the run that has started it, and more.
            let id = &question.run.id;
            let top = id.split('/').next().unwrap_or(id);
            let host = with_runs(|runs| runs.get(top).and_then(Weak::upgrade))?;
            let asked = json!({ "question": question.text, "gadget": question.gadget });
            let mut call = host.start("human", 0, asked.to_string(), None);
            let (kind, text) = call.answer().await?;
            (kind == "result").then_some(text)
        })
    }
}
