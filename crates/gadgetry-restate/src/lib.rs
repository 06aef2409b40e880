//! Durable runs on many machines: [Restate](https://restate.dev) keeps the journal of each run and gives it to a worker.
//!
//! A [`Worker`] serves the runs of an [`Agent`](gadgetry::Agent) to a Restate server, and a [`Client`] submits them, follows them, and
//! answers their questions. If a worker is killed, another one continues its runs.
//!
//! ```no_run
//! use gadgetry::{Agent, gadget};
//! use gadgetry_restate::{Client, Worker};
//!
//! /// Looks an invoice up.
//! #[gadget]
//! fn invoice(number: u32) -> String {
//!     format!("Invoice {number}: 100 dollars, paid")
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = Agent::builder().named("haiku")?.gadget(Invoice).build()?;
//! let _worker = Worker::builder(agent).build()?.start().await?;
//!
//! let client = Client::new("http://127.0.0.1:8080")?;
//! client.submit("invoice-42", "Is invoice 42 paid?").await?;
//! let outcome = client.result("invoice-42").await?;
//! println!("{}", outcome.summary.answer);
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//!
//! | module | what it does |
//! |---|---|
//! | `error` | errors of workers and of requests |
//! | `protocol` | what crosses the wire: names of services, the input and the output of a run, messages. All that workers and clients share |
//! | `ingress` | requests to Restate, and to workers |
//! | `client` | runs from outside |
//! | `step`, `replay` | the result of a step: lines of the run's journal; a run, from the steps that Restate replays |
//! | `journal` | [`gadgetry::journal::Journal`]: what the driver records becomes the next step |
//! | `events` | the events of the runs that a worker drives, for followers |
//! | `driver` | an agent drives a run |
//! | `inbox`, `delivery` | the virtual object that stores answers and commands, and their way to the driver |
//! | `gadget_service` | gadgets that are executed by any worker |
//! | `context` | the parts of a worker that its runs share |
//! | `execution`, `workflow` | the workflow of a run: a loop over steps, in which the first new one starts the driver |
//! | `listener`, `worker` | the listener of a worker, and its registration |
//!
//! A step of the workflow (`ctx.run`) does not execute one gadget. It waits for what the driver has to keep, so gadgets run in
//! parallel, and start while the reply is read, as in a single process. The driver continues when Restate has the step.
//! When a workflow is replayed, its steps are given back without being executed; the first step that is not known starts the driver
//! with what is.
//!
//! A step that takes long is cut by heartbeats, because Restate suspends a workflow that is silent for long, which would interrupt
//! the work in progress. A run that waits for nothing but an answer waits for a signal, so that it is suspended.

mod client;
mod context;
mod delivery;
mod driver;
mod error;
mod events;
mod execution;
mod gadget_service;
mod inbox;
mod ingress;
mod journal;
mod listener;
mod protocol;
mod replay;
mod step;
mod worker;
mod workflow;

pub use client::{Client, Followed, RunStatus};
pub use error::{RestateError, WorkerError};
pub use gadget_service::Spread;
pub use protocol::{MAX_ENTRY, RunOutcome};
pub use worker::{ServingWorker, Worker, WorkerBuilder};
