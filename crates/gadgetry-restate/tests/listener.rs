//! Long runs and large results.

use gadgetry_restate::{MAX_ENTRY, RestateError};
use serde_json::json;

use crate::support::World;
use crate::support::worker::WorkerProcess;

/// A run of thousands of steps is resumed; h2 does not take its journal for an attack.
#[tokio::test]
async fn a_run_of_5000_steps_is_resumed() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let worker = world.worker().await;
    let address = worker.address.clone();
    let calls = 5000;
    let prompt = json!({"run": "long", "scenario": "chain", "calls": calls, "gate": calls / 100});
    world
        .client
        .submit("long", &prompt.to_string())
        .await
        .expect("accepted");
    // Until the worker is killed: dropping it would let the worker through.
    let at_gate = world.gate.arrival("long/reply").await;
    worker.kill().await;
    drop(at_gate);
    let _worker = WorkerProcess::at(&world, &[], &address).await;
    world.gate.pass("long", &["reply"]).await;
    let outcome = world.client.result("long").await.expect("it ends");
    assert!(outcome.summary.answer.ends_with("All done."));
    let expected: Vec<String> = (0..calls).map(|number| format!("{number:06}")).collect();
    assert_eq!(world.effects("long"), expected);
}

/// What Restate would refuse, and repeat forever, ends the run.
#[tokio::test]
async fn a_result_that_is_too_large_ends_the_run() {
    let Some(world) = World::start().await else {
        return;
    };
    let _worker = world.worker().await;
    let prompt = json!({"run": "huge", "steps": 1, "size": MAX_ENTRY}).to_string();
    world
        .client
        .submit("huge", &prompt)
        .await
        .expect("accepted");
    let Err(RestateError::Refused { code, message }) = world.client.result("huge").await else {
        panic!("it was kept");
    };
    assert_eq!(code, 413);
    assert!(
        message.contains("the result of a gadget has 10000"),
        "{message}"
    );
    assert_eq!(world.effects("huge"), ["large"]);
    // Close to the limit, two in a run.
    let prompt = json!({"run": "big", "steps": 2, "size": MAX_ENTRY - 10_000}).to_string();
    assert_eq!(world.run("big", &prompt).await.summary.iterations, 3);
}
