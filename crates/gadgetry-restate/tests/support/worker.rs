//! A worker as a process of its own, which can be killed.

use std::env;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use gadgetry_restate::Worker;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::World;
use super::agent;

/// Set for the process of a worker: what it is to know, in JSON.
const ASKED: &str = "GADGETRY_TEST_WORKER";

/// What a worker prints when it serves.
const SERVES: &str = "worker serves ";

/// What the process of a worker knows.
#[derive(serde::Serialize, serde::Deserialize)]
struct Setup {
    ingress: String,
    admin: String,
    advertise: Option<String>,
    listen: String,
    gate: String,
    folder: PathBuf,
}

/// A worker that is killed when it is dropped.
pub(crate) struct WorkerProcess {
    process: Child,
    pub(crate) address: String,
}

impl WorkerProcess {
    /// Starts a worker and waits until it is registered. `advertised`: the URL of the load balancer, if there is one.
    pub(crate) async fn start(world: &World, advertised: &[&str]) -> Self {
        Self::at(world, advertised, "127.0.0.1:0").await
    }

    /// The same, listening on this address.
    pub(crate) async fn at(world: &World, advertised: &[&str], listen: &str) -> Self {
        let setup = Setup {
            ingress: world.restate.ingress.clone(),
            admin: world.restate.admin.clone(),
            advertise: advertised.first().map(ToString::to_string),
            listen: listen.to_owned(),
            gate: world.gate.address(),
            folder: world.path().to_owned(),
        };
        let setup = serde_json::to_string(&setup).expect("JSON");
        let program = env::current_exe().expect("this program has a path");
        let mut process = Command::new(program)
            .args(["--exact", "worker_process", "--nocapture"])
            .env(ASKED, setup)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("this program starts");
        let output = process.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(output).lines();
        let address = loop {
            let line = lines.next_line().await.expect("a line");
            let line = line.expect("the worker has ended before it served");
            if let Some((_, address)) = line.split_once(SERVES) {
                break address.to_owned();
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self { process, address }
    }

    /// Its number in the system; `None` if it has ended.
    pub(crate) fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// `kill -9`.
    pub(crate) async fn kill(mut self) {
        self.process.kill().await.expect("it runs");
    }
}

/// Serves for ever, if this process was started for that.
pub(crate) fn run_if_asked() {
    let Ok(setup) = env::var(ASKED) else {
        return;
    };
    let setup: Setup = serde_json::from_str(&setup).expect("it is what the test has written");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let (agent, spread) = agent::agent(&setup.folder, &setup.gate);
        let mut worker = Worker::builder(agent)
            .spread(spread)
            .restate(setup.ingress)
            .admin(setup.admin)
            .suspend_after(Duration::from_secs(3))
            .listen(setup.listen.parse().expect("an address"));
        if let Some(advertise) = setup.advertise {
            worker = worker.advertise(advertise);
        }
        let worker = worker.build().expect("valid options");
        let serving = worker.start().await.expect("it serves");
        say(&format!("{SERVES}{}", serving.address()));
        serving.ended().await;
    });
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn say(line: &str) {
    println!("\n{line}");
}
