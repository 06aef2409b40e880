//! Gadgets that are executed by another worker than the one that drives the run.

use futures_core::future::BoxFuture;
use gadgetry::proto::call::Outcome;
use gadgetry::serde_json::Value;
use gadgetry::{Agent, DynGadget, ExecutionContext, FinishReason, GadgetSpec, Permission};
use gadgetry_restate::{Spread, Worker, WorkerError};
use gadgetry_testing::MockModel;
use serde_json::json;
use std::sync::Arc;

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

/// A gadget with a permission.
struct Permitted(GadgetSpec, Permission);

impl DynGadget for Permitted {
    fn spec(&self) -> &GadgetSpec {
        &self.0
    }

    fn execute(&self, _: Value, _: ExecutionContext) -> BoxFuture<'static, Outcome> {
        unreachable!("no test calls it")
    }

    fn permission(&self) -> Permission {
        self.1
    }
}

/// A client of the ingress can call what is spread, and no one would be asked.
#[test]
fn gadgets_that_ask_are_not_spread() {
    let check = |permissions: &[(&str, Permission)], expected: Option<&str>| {
        let mut spread = Spread::default();
        for (name, permission) in permissions {
            let spec = GadgetSpec {
                name: (*name).to_owned(),
                ..GadgetSpec::default()
            };
            let gadget: Arc<dyn DynGadget> = Arc::new(Permitted(spec, *permission));
            spread.gadget(gadget);
        }
        let agent = Agent::builder().model(MockModel::in_order(["Hi"])).build();
        let worker = Worker::builder(agent.expect("a valid agent")).spread(spread);
        let refused = match worker.build() {
            Ok(_) => None,
            Err(WorkerError::NeedsApproval(name)) => Some(name),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(refused.as_deref(), expected, "{permissions:?}");
    };
    check(&[], None);
    check(&[("A", Permission::Allow)], None);
    check(&[("A", Permission::Ask)], Some("A"));
    check(&[("A", Permission::Deny)], Some("A"));
    let some = [
        ("C", Permission::Ask),
        ("A", Permission::Allow),
        ("B", Permission::Ask),
    ];
    check(&some, Some("B"));
}
