//! Questions to the user, answered after everything was killed.

use gadgetry::FinishReason;
use gadgetry::proto::run::Decision;
use serde_json::json;

use crate::support::World;
use crate::support::worker::WorkerProcess;

#[tokio::test]
async fn an_answer_reaches_a_run_that_was_killed() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let mut worker = world.worker().await;
    // A question of the run is waited for without a worker; one of a gadget is not.
    for (gadget, waits) in [("Ask", "suspended"), ("Wonder", "running")] {
        let run = gadget.to_lowercase();
        let prompt = json!({"run": run, "scenario": gadget}).to_string();
        world.client.submit(&run, &prompt).await.expect("accepted");
        let asked = world.question(&run).await;
        assert_eq!(asked.text, "pay?", "{gadget}");
        world.restate.until(&run, waits).await;
        let address = worker.address.clone();
        world.restate.kill().await;
        worker.kill().await;
        world.restate.restart().await;
        worker = WorkerProcess::at(&world, &[], &address).await;
        let again = world.question(&run).await;
        assert_eq!(again, asked, "{gadget}");
        let answer = Decision::Result("yes".to_owned());
        world
            .client
            .answer(&run, again.id, answer)
            .await
            .expect("it waits");
        let outcome = world.client.result(&run).await.expect("it ends");
        assert_eq!(outcome.summary.reason, FinishReason::Completed, "{gadget}");
        assert_eq!(world.effects(&run), ["pay"], "{gadget}");
        let said = serde_json::to_string(&outcome.history).expect("JSON");
        assert!(said.contains("yes"), "{gadget}: {said}");
    }
}
