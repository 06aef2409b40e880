//! Durable runs on many machines: [Restate](https://restate.dev) keeps the journal of each run and gives it to a worker.

mod agent;
mod batch;
mod client;
mod error;
mod hub;
mod inbox;
mod ingress;
mod journal;
mod known;
mod messages;
mod run;
mod server;
mod session;
mod worker;

pub use batch::MAX_ENTRY;
pub use client::{Client, Followed, RunOutcome, RunStatus};
pub use error::{RestateError, WorkerError};
pub use worker::{ServingWorker, Worker, WorkerBuilder};
