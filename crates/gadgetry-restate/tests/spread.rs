//! Gadgets that are executed by another worker than the one that drives the run.

use gadgetry::FinishReason;
use serde_json::json;

use crate::support::World;
use crate::support::worker::WorkerProcess;

fn prompt(run: &str) -> String {
    json!({"run": run, "scenario": "far", "gate": 0}).to_string()
}

#[tokio::test]
async fn a_call_survives_the_worker_of_its_run() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let near = world.worker().await;
    let address = near.address.clone();
    world
        .client
        .submit("a", &prompt("a"))
        .await
        .expect("accepted");
    let reply = world.gate.arrival("a/reply").await;
    // New calls go to the worker that was registered last; the run stays where it is.
    let _far = world.worker().await;
    drop(reply);
    let first = world.gate.arrival("a/f1").await;
    let second = world.gate.arrival("a/f2").await;
    near.kill().await;
    let _near = WorkerProcess::at(&world, &[], &address).await;
    drop((first, second));
    let outcome = world.client.result("a").await.expect("it ends");
    assert_eq!(outcome.summary.reason, FinishReason::Completed);
    assert_eq!(world.effects("a"), ["f1", "f2"]);
    assert_eq!(world.effects("keys"), ["a/0", "a/1"]);
    let results = serde_json::to_string(&outcome.history).expect("JSON");
    assert!(
        results.contains("held f1") && results.contains("held f2"),
        "{results}"
    );
    // Two gadgets, at a cent each, and two replies.
    let replies = 2.0 * (1000.0 + 2.0 * 100.0) / 1e6;
    assert!((outcome.summary.known_cost - replies - 0.02).abs() < 1e-9);
}

#[tokio::test]
async fn a_cancel_reaches_calls_on_other_workers() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let _worker = world.worker().await;
    world
        .client
        .submit("b", &prompt("b"))
        .await
        .expect("accepted");
    world.gate.pass("b", &["reply"]).await;
    let _first = world.gate.arrival("b/f1").await;
    let _second = world.gate.arrival("b/f2").await;
    world.client.cancel("b").await.expect("it runs");
    let outcome = world.client.result("b").await.expect("it ends");
    assert_eq!(outcome.summary.reason, FinishReason::Cancelled);
    while world.effects("b").len() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.effects("b"), ["f1 cancelled", "f2 cancelled"]);
}
