//! Messages to runs, and events from them.

use gadgetry::{Event, EventKind, FinishReason};
use gadgetry_restate::{RestateError, RunStatus};
use serde_json::json;

use crate::support::World;
use crate::support::worker::WorkerProcess;

fn quiet(run: &str) -> String {
    json!({"run": run, "scenario": "quiet", "gate": 1}).to_string()
}

#[tokio::test]
async fn a_cancelled_run_ends_with_its_transcript() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let _worker = world.worker().await;
    let client = world.client.clone();
    client
        .submit("a b/c".replace('/', ".").as_str(), &quiet("a"))
        .await
        .expect("accepted");
    world.gate.pass("a", &["reply"]).await;
    let _held = world.gate.arrival("a/b4").await;
    assert_eq!(
        client.status("a b.c").await.expect("known"),
        RunStatus::Running
    );
    client.cancel("a b.c").await.expect("it runs");
    let outcome = client.result("a b.c").await.expect("it ends");
    assert_eq!(outcome.summary.reason, FinishReason::Cancelled);
    // The gadget has noticed.
    assert!(world.effects("a").contains(&"b4 cancelled".to_owned()));
    // The prompt, two replies and their results.
    assert_eq!(outcome.history.len(), 5);
    let status = client.status("a b.c").await.expect("known");
    assert_eq!(status, RunStatus::Ended(Box::new(outcome)));
    let late = client.cancel("a b.c").await;
    assert!(
        matches!(late, Err(RestateError::Refused { code: 409, .. })),
        "{late:?}"
    );
    let unknown = client.status("other").await;
    assert!(
        matches!(unknown, Err(RestateError::Unknown(_))),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn a_follower_stays_when_the_run_moves() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let worker = world.worker().await;
    let address = worker.address.clone();
    world
        .client
        .submit("b", &quiet("b"))
        .await
        .expect("accepted");
    assert!(
        !world
            .client
            .submit("b", "something else")
            .await
            .expect("known")
    );
    let mut followed = world.client.follow("b", 0);
    let mut events = Vec::new();
    // Until the text before the gate.
    let is_text =
        |kind: &EventKind| matches!(kind, EventKind::Text { text, .. } if text.contains("Well"));
    loop {
        let event = followed
            .next()
            .await
            .expect("it is known")
            .expect("it runs");
        events.push(event);
        if events.last().is_some_and(|event| is_text(&event.kind)) {
            break;
        }
    }
    // Until the worker is killed: dropping it would let the worker through.
    let at_gate = world.gate.arrival("b/reply").await;
    worker.kill().await;
    drop(at_gate);
    let _worker = WorkerProcess::at(&world, &[], &address).await;
    world.gate.pass("b", &["reply"]).await;
    // The follower is there before the rest happens.
    let first = followed
        .next()
        .await
        .expect("it is known")
        .expect("it runs");
    let mut rest = vec![first];
    world.gate.pass("b", &["b4"]).await;
    while let Some(event) = followed.next().await.expect("it is known") {
        rest.push(event);
    }
    let last = rest.last().map(|event| &event.kind);
    assert!(
        matches!(last, Some(EventKind::RunFinished { .. })),
        "{last:?}"
    );
    let numbers = |events: &[Event]| events.iter().map(|event| event.seq).collect::<Vec<_>>();
    let is_gapless = |numbers: &[u64]| numbers.windows(2).all(|two| two[0] + 1 == two[1]);
    let first = numbers(&events);
    assert!(first[0] <= 1 && is_gapless(&first), "{first:?}");
    let next = numbers(&rest);
    assert!(
        next[0] <= events.len() as u64 + 1 && is_gapless(&next),
        "{next:?}"
    );
}
