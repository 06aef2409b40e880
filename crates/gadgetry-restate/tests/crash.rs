//! Workers and servers that are killed: what was finished is never done again.

use gadgetry::FinishReason;
use gadgetry_restate::RunOutcome;
use serde_json::json;

use crate::support::World;
use crate::support::agent::repeated;
use crate::support::worker::WorkerProcess;

/// What a run that was disturbed has in common with one that was not.
fn check(world: &World, run: &str, outcome: &RunOutcome, undisturbed: &RunOutcome) {
    let effects = world.effects(run);
    assert_eq!(repeated(&effects), [], "{run}: {effects:?}");
    assert_eq!(effects, world.effects(UNDISTURBED), "{run}");
    let text = |outcome: &RunOutcome| serde_json::to_string_pretty(&outcome.history).expect("JSON");
    // Offsets depend on the length of the name.
    let renamed = text(outcome).replace(run, UNDISTURBED);
    let expected = text(undisturbed);
    let differing = renamed
        .lines()
        .zip(expected.lines())
        .find(|(one, other)| one != other);
    assert_eq!(differing, None, "{run}");
    assert_eq!(renamed.lines().count(), expected.lines().count(), "{run}");
    assert_eq!(outcome.summary.total_cost, undisturbed.summary.total_cost);
}

/// What is killed.
#[derive(Clone, Copy, Debug)]
enum Killed {
    Worker,
    Engine,
    /// Engine and worker.
    Both,
}

/// Where the run is when that happens: where it waits at the gate.
#[derive(Clone, Copy, Debug)]
enum During {
    Reply,
    Gadget,
}

const CASES: [(Killed, During); 6] = [
    (Killed::Worker, During::Reply),
    (Killed::Engine, During::Reply),
    (Killed::Both, During::Reply),
    (Killed::Worker, During::Gadget),
    (Killed::Engine, During::Gadget),
    (Killed::Both, During::Gadget),
];

/// The run that is not disturbed. The names of all runs have its length, so that offsets are the same.
const UNDISTURBED: &str = "undisturbed--";

/// The second reply waits at the gate, and so does one of its gadgets.
fn proof(run: &str) -> String {
    json!({"run": run, "scenario": "proof", "gate": 1}).to_string()
}

#[tokio::test]
async fn what_was_finished_is_never_done_again() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let mut worker = Some(world.worker().await);
    assert!(
        world
            .client
            .submit(UNDISTURBED, &proof(UNDISTURBED))
            .await
            .expect("accepted")
    );
    world.gate.pass(UNDISTURBED, &["reply", "b4"]).await;
    let undisturbed = world.client.result(UNDISTURBED).await.expect("it ends");
    assert_eq!(undisturbed.summary.reason, FinishReason::Completed);
    assert_eq!(undisturbed.summary.answer, "All done.");
    assert_eq!(world.effects(UNDISTURBED).len(), 12);
    for (killed, during) in CASES {
        let run = format!("{:-<13}", format!("{killed:?}-{during:?}").to_lowercase());
        assert!(
            world
                .client
                .submit(&run, &proof(&run))
                .await
                .expect("accepted")
        );
        let (before, at, after): (&[&str], _, &[&str]) = match during {
            During::Reply => (&[], "reply", &["reply", "b4"]),
            During::Gadget => (&["reply"], "b4", &["b4"]),
        };
        world.gate.pass(&run, before).await;
        let waiting = world.gate.arrival(&format!("{run}/{at}")).await;
        let address = worker
            .as_ref()
            .map(|worker| worker.address.clone())
            .expect("it serves");
        if matches!(killed, Killed::Engine | Killed::Both) {
            world.restate.kill().await;
        }
        if matches!(killed, Killed::Worker | Killed::Both)
            && let Some(worker) = worker.take()
        {
            worker.kill().await;
        }
        if matches!(killed, Killed::Engine | Killed::Both) {
            world.restate.restart().await;
        }
        if worker.is_none() {
            worker = Some(WorkerProcess::at(&world, &[], &address).await);
        }
        // Begun again. The first one is never let through.
        world.gate.pass(&run, after).await;
        drop(waiting);
        let outcome = world.client.result(&run).await.expect("it ends");
        check(&world, &run, &outcome, &undisturbed);
    }
}
