//! A Restate server, workers as processes of their own, and the agent that they serve.

pub(crate) mod agent;
pub(crate) mod gate;
pub(crate) mod proxy;
pub(crate) mod restate;
pub(crate) mod worker;

use std::path::Path;
use std::time::Duration;

use gadgetry::journal::OpenQuestion;
use gadgetry_restate::{Client, RunOutcome, RunStatus};
use tempfile::TempDir;
use tokio::time::sleep;

use agent::effects;
use gate::Gate;
use restate::Restate;
use worker::WorkerProcess;

/// A server, one worker and a client.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) restate: Restate,
    pub(crate) gate: Gate,
    pub(crate) client: Client,
}

impl World {
    /// `None`, with a notice, if the server is not installed.
    pub(crate) async fn start() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder for a test");
        let restate = Restate::start(&folder.path().join("restate")).await?;
        let client = Client::new(&restate.ingress).expect("a URL");
        Some(Self {
            gate: Gate::listen().await,
            folder,
            restate,
            client,
        })
    }

    /// Starts a worker and waits until it is registered.
    pub(crate) async fn worker(&self) -> WorkerProcess {
        WorkerProcess::start(self, &[]).await
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// How often each gadget was executed to its end, in order of their names.
    pub(crate) fn effects(&self, run: &str) -> Vec<String> {
        effects(self.path(), run)
    }

    /// Waits until the run asks.
    pub(crate) async fn question(&self, run: &str) -> OpenQuestion {
        loop {
            let status = self.client.status(run).await.expect("known");
            if let RunStatus::Waiting(mut questions) = status {
                return questions.remove(0);
            }
            assert_eq!(status, RunStatus::Running);
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Submits a run and waits for its end.
    pub(crate) async fn run(&self, id: &str, prompt: &str) -> RunOutcome {
        assert!(
            self.client
                .submit(id, prompt)
                .await
                .expect("it is accepted")
        );
        self.client.result(id).await.expect("it ends")
    }
}
