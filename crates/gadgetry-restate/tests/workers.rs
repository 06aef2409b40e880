//! Two workers behind a load balancer: haproxy, the Debian package. Without it, the test says that it is skipped.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use gadgetry::FinishReason;
use serde_json::json;
use tokio::process::{Child, Command};

use crate::support::World;
use crate::support::agent::repeated;
use crate::support::restate::{free_ports, until_listening};
use crate::support::worker::WorkerProcess;

const RUNS: usize = 100;

/// Starts haproxy on `port`; `None`, with a notice, if it is not installed.
async fn haproxy(folder: &Path, port: u16, workers: [u16; 2]) -> Option<Child> {
    let [one, other] = workers;
    let config = format!(
        "defaults\n mode http\n option redispatch 1\n retries 3\n timeout connect 5s\n timeout client 1h\n timeout server 1h\n\
         frontend restate\n bind 127.0.0.1:{port} proto h2\n default_backend workers\n\
         backend workers\n balance roundrobin\n default-server proto h2\n \
         server one 127.0.0.1:{one}\n server other 127.0.0.1:{other}\n"
    );
    let file = folder.join("haproxy.cfg");
    std::fs::write(&file, config).expect("it is written");
    let started = Command::new("haproxy")
        .arg("-db")
        .arg("-f")
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let Ok(process) = started else {
        let notice = b"SKIPPED: a test with two workers: haproxy is not on this machine (apt install haproxy)\n";
        _ = std::io::stderr().write_all(notice);
        return None;
    };
    until_listening(&format!("127.0.0.1:{port}")).await;
    Some(process)
}

/// Submits a hundred runs, and calls `after_first` when the first one has ended.
async fn hundred_runs(world: &World, name: &str, after_first: impl AsyncFnOnce()) {
    let mut runs: FuturesUnordered<_> = (0..RUNS)
        .map(|number| {
            let run = format!("{name}-{number}");
            let prompt = json!({"run": run, "steps": 5}).to_string();
            async move {
                let outcome = world.run(&run, &prompt).await;
                (run, outcome)
            }
        })
        .collect();
    let mut after_first = Some(after_first);
    while let Some((run, outcome)) = runs.next().await {
        assert_eq!(outcome.summary.reason, FinishReason::Completed, "{run}");
        assert_eq!(outcome.summary.iterations, 6, "{run}");
        assert_eq!(repeated(&world.effects(&run)), [], "{run}");
        if let Some(after_first) = after_first.take() {
            after_first().await;
        }
    }
}

#[tokio::test]
async fn a_hundred_runs_on_two_workers() {
    let Some(world) = World::start().await else {
        return;
    };
    let [port, one, other] = free_ports();
    let Some(_haproxy) = haproxy(world.path(), port, [one, other]).await else {
        return;
    };
    let url = format!("http://127.0.0.1:{port}");
    let start = async |port| WorkerProcess::at(&world, &[&url], &format!("127.0.0.1:{port}")).await;
    let first = start(one).await;
    let _second = start(other).await;
    hundred_runs(&world, "all", async || {}).await;
    let processes: BTreeSet<String> = world.effects("processes").into_iter().collect();
    assert_eq!(processes.len(), 2, "both workers had runs");
    hundred_runs(&world, "killed", async || first.kill().await).await;
}
