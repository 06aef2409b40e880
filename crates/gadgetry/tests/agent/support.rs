//! A model that gives prepared replies and keeps what it was asked, and gadgets to call.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::proto::call::Outcome;
use gadgetry::proto::convo::prompt_text;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::{ModelError, ModelErrorKind};
use gadgetry::proto::event::{CallAnswer, Event, EventKind};
use gadgetry::proto::message::{Constraint, Request, Sampling};
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::proto::usage::{Price, Usage};
use gadgetry::{ExecutionContext, IntoGadget, Model, ModelInfo, from_fn};
use serde_json::{Value, json};
use tokio::time::sleep;

/// A reply, after a while.
#[derive(Clone)]
pub(crate) struct Reply {
    after: Duration,
    deltas: Vec<Delta>,
}

/// 100 tokens in, 50 out.
fn usage() -> Usage {
    Usage::default()
        .input_tokens(100)
        .output_tokens(50)
        .total_tokens(150)
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        ended(&text, StopReason::Stop)
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        ended(text, StopReason::Stop)
    }
}

pub(crate) fn ended(text: &str, stop_reason: StopReason) -> Reply {
    let usage = Some(usage());
    let end = Delta::MessageEnd { stop_reason, usage };
    Reply {
        after: Duration::ZERO,
        deltas: vec![Delta::text(text), end],
    }
}

pub(crate) fn failed(kind: ModelErrorKind) -> Reply {
    failing(ModelError::new(kind, "out of order"))
}

pub(crate) fn failing(error: ModelError) -> Reply {
    Reply {
        after: Duration::ZERO,
        deltas: vec![error.into()],
    }
}

pub(crate) fn after(ms: u64, reply: impl Into<Reply>) -> Reply {
    Reply {
        after: Duration::from_millis(ms),
        ..reply.into()
    }
}

/// A block that calls `name`.
pub(crate) fn call(name: &str, id: &str, arguments: &[(&str, &str)]) -> String {
    let mut block = format!("!!!GADGET_START:{name}:{id}\n");
    for (pointer, value) in arguments {
        block = block + "!!!ARG:" + pointer + "\n" + value + "\n";
    }
    block + "!!!GADGET_END\n"
}

/// Gives its replies in order. Clones are one model.
#[derive(Clone)]
pub(crate) struct Mock {
    name: &'static str,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    requests: Arc<Mutex<Vec<Request>>>,
    info: ModelInfo,
}

/// A dollar a thousand tokens in, two a thousand out: 0.2 dollars a reply.
pub(crate) fn price() -> Price {
    Price::default().input(1_000.0).output(2_000.0)
}

impl Mock {
    pub(crate) fn new<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let replies = replies.into_iter().map(Into::into).collect();
        Self {
            name: "mock",
            replies: Arc::new(Mutex::new(replies)),
            requests: Arc::default(),
            info: ModelInfo::default().price(price()),
        }
    }

    pub(crate) fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub(crate) fn info(self, info: ModelInfo) -> Self {
        Self { info, ..self }
    }

    /// What it was asked, message by message.
    pub(crate) fn asked(&self) -> Vec<Vec<String>> {
        let requests = self.requests.lock().unwrap();
        let texts = |request: &Request| {
            let messages = request.all_messages();
            messages.map(|it| prompt_text(it).into_owned()).collect()
        };
        requests.iter().map(texts).collect()
    }

    /// Everything that stood in its last request.
    pub(crate) fn last(&self) -> String {
        self.asked().pop().unwrap_or_default().join("\n")
    }

    /// The constraint of its last request.
    pub(crate) fn constraint(&self) -> Option<Constraint> {
        let requests = self.requests.lock().unwrap();
        requests.last()?.constraint.clone()
    }

    /// The settings of its requests.
    pub(crate) fn samplings(&self) -> Vec<Sampling> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|it| it.sampling.clone()).collect()
    }

    /// The system message of its first request.
    pub(crate) fn system(&self) -> String {
        self.asked().first().unwrap()[0].clone()
    }
}

impl Model for Mock {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        self.requests.lock().unwrap().push(request);
        let reply = self.replies.lock().unwrap().pop_front();
        let Some(reply) = reply else {
            return stream::iter([Delta::error("the test has no further reply")]).boxed();
        };
        let deltas = async move {
            sleep(reply.after).await;
            stream::iter(reply.deltas)
        };
        stream::once(deltas).flatten().boxed()
    }

    fn name(&self) -> &str {
        self.name
    }

    fn info(&self) -> ModelInfo {
        self.info.clone()
    }
}

pub(crate) fn spec(name: &str) -> GadgetSpec {
    let parameters = json!({ "type": "object", "properties": {
        "text": { "type": "string" },
        "ms": { "type": "integer" },
    } });
    GadgetSpec {
        name: name.to_owned(),
        description: format!("The gadget {name}."),
        parameters,
        ..GadgetSpec::default()
    }
}

/// Says what it is told.
pub(crate) fn echo() -> impl IntoGadget {
    from_fn(spec("Echo"), |parameters: Value, _| async move {
        Outcome::ok(parameters["text"].as_str().unwrap_or("nothing"))
    })
}

/// Fails.
pub(crate) fn broken() -> impl IntoGadget {
    from_fn(spec("Broken"), |_, _| async { Outcome::error("no luck") })
}

/// Ends the run.
pub(crate) fn finish() -> impl IntoGadget {
    from_fn(spec("Finish"), |parameters: Value, _| async move {
        Outcome {
            completes_run: true,
            ..Outcome::ok(parameters["text"].as_str().unwrap_or("done"))
        }
    })
}

/// Counts how many of it are at work, and how many were at most.
#[derive(Clone, Default)]
pub(crate) struct Sleepers {
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Sleepers {
    pub(crate) fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    /// Sleeps for `ms` milliseconds.
    pub(crate) fn gadget(&self) -> impl IntoGadget + 'static {
        let counts = self.clone();
        from_fn(spec("Sleep"), move |parameters: Value, _| {
            let counts = counts.clone();
            async move {
                let awake = Awake::new(counts);
                sleep(Duration::from_millis(
                    parameters["ms"].as_u64().unwrap_or(100),
                ))
                .await;
                drop(awake);
                Outcome::ok("slept")
            }
        })
    }
}

struct Awake(Sleepers);

impl Awake {
    fn new(counts: Sleepers) -> Self {
        let now = counts.now.fetch_add(1, Ordering::SeqCst) + 1;
        counts.most.fetch_max(now, Ordering::SeqCst);
        Self(counts)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A gadget that is this closure.
pub(crate) fn gadget<F, R>(name: &str, function: F) -> impl IntoGadget + use<F, R>
where
    F: Fn(ExecutionContext) -> R + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    from_fn(spec(name), move |_, context| function(context))
}

/// The events that tell a story, a line each.
pub(crate) fn story(events: &[Event]) -> Vec<String> {
    let line = |event: &Event| -> Option<String> {
        let depth = "> ".repeat(event.depth());
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the story has the events that matter"
        )]
        let line = match &event.kind {
            EventKind::Text { text } => format!("text {text:?}"),
            EventKind::GadgetStart { invocation_id, .. } => format!("start {invocation_id}"),
            EventKind::GadgetResult {
                invocation_id,
                answer: CallAnswer::Result(text),
                ..
            } => format!("{invocation_id}: {text}"),
            EventKind::GadgetResult {
                invocation_id,
                answer: CallAnswer::Error(text),
                ..
            } => format!("{invocation_id} failed: {text}"),
            EventKind::GadgetSkipped { invocation_id, .. } => format!("skipped {invocation_id}"),
            EventKind::RunFinished { reason, .. } => format!("{reason:?}"),
            _ => return None,
        };
        Some(depth + &line)
    };
    events.iter().filter_map(line).collect()
}
