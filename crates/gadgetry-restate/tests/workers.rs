//! A hundred runs at once on two workers.

use std::collections::BTreeSet;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use gadgetry::FinishReason;
use serde_json::json;

use crate::support::World;
use crate::support::agent::repeated;
use crate::support::proxy::Proxy;

const RUNS: usize = 100;

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
    let Some(mut proxy) = Proxy::start(&world).await else {
        return;
    };
    hundred_runs(&world, "all", async || {}).await;
    let processes: BTreeSet<String> = world.effects("processes").into_iter().collect();
    assert_eq!(processes.len(), 2, "both workers had runs");
    hundred_runs(&world, "killed", async || proxy.kill_first().await).await;
}
