//! Speed, and long runs: what the SDK's own listener gets wrong.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::World;

/// A step of 20 kB takes a few milliseconds, not the 40 more of Nagle's algorithm.
#[tokio::test]
async fn steps_of_20_kb_are_not_slow() {
    let Some(world) = World::start().await else {
        return;
    };
    let _worker = world.worker().await;
    world
        .run("warm", &json!({"run": "warm", "steps": 5}).to_string())
        .await;
    let began = Instant::now();
    let prompt = json!({"run": "large", "steps": 50, "size": 20_000}).to_string();
    let outcome = world.run("large", &prompt).await;
    let each = began.elapsed() / 100;
    assert_eq!(outcome.summary.iterations, 51);
    assert!(each < Duration::from_millis(30), "{each:?} a step");
}
