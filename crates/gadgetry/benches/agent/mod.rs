//! A run of an agent as a program has one, with a model and a gadget that take no time.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "every bench target uses its own part of it"
)]

use std::sync::{Mutex, PoisonError};

use futures_core::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use gadgetry::proto::delta::Delta;
use gadgetry::proto::message::Request;
use gadgetry::{Agent, AgentBuilder, Model, from_fn};
use tokio::runtime::{Builder, Runtime};

use crate::support::loads::{Load, fetch, look_at, spec};

/// One core.
pub fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().expect("the system lets us")
}

/// An agent that is good for one run of `load`.
pub fn agent(load: &Load, size: usize) -> Agent {
    builder(load, size)
        .build()
        .expect("the agent is well formed")
}

/// The same, before it is built.
pub fn builder(load: &Load, size: usize) -> AgentBuilder {
    let replies = load.replies(size).into_iter();
    Agent::builder()
        .model(Ready(Mutex::new(replies)))
        .gadget(from_fn(spec(), |parameters, _| async move {
            fetch(&parameters)
        }))
        .max_iterations(load.iterations + 1)
}

/// Does the run, and looks at every event. Returns how many there were.
pub fn run(runtime: &Runtime, agent: &Agent, load: &Load) -> u64 {
    let mut events = 0;
    let run = agent.ask("Fetch everything.").on_event(|_| events += 1);
    let finished = runtime.block_on(run).expect("the model is done at the end");
    load.check(&finished.summary);
    events
}

/// Replies that are there before they are asked for.
struct Ready(Mutex<std::vec::IntoIter<Vec<Delta>>>);

impl Model for Ready {
    fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
        look_at(request);
        let mut replies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream::iter(replies.next().unwrap_or_default()).boxed()
    }

    fn name(&self) -> &'static str {
        "ready"
    }
}
