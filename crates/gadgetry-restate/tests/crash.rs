//! Workers and servers that are killed: what was finished is never done again.

use gadgetry::FinishReason;
use gadgetry::journal::OpenQuestion;
use gadgetry::proto::run::Decision;
use gadgetry_restate::RunOutcome;
use serde_json::json;

use crate::support::World;
use crate::support::agent::repeated;
use crate::support::proxy::Proxy;
use crate::support::worker::WorkerProcess;

/// The run that is not disturbed. The names of all runs have its length, so that offsets are the same.
const UNDISTURBED: &str = "undisturbed--";

/// What is killed.
#[derive(Clone, Copy, Debug)]
enum Killed {
    Worker,
    Engine,
    /// Engine and worker.
    Both,
}

/// Where the run is when that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum During {
    Reply,
    Gadget,
    /// A gadget waits for the answer of the user.
    Question,
}

/// In their order in the run.
const PLACES: [During; 3] = [During::Reply, During::Gadget, During::Question];

/// Drives the run of the proof to its end. At the place `during`, `kill` kills what it is given the process of.
async fn drive(
    world: &mut World,
    run: &str,
    during: Option<During>,
    mut kill: impl AsyncFnMut(&mut World, u32),
) -> RunOutcome {
    // The second reply waits at the gate, and so does one of its gadgets.
    let prompt = json!({"run": run, "scenario": "proof", "gate": 1}).to_string();
    let submitted = world.client.submit(run, &prompt).await;
    assert!(submitted.expect("accepted"));
    let mut asked = None;
    for place in PLACES {
        let name = match place {
            During::Reply => "reply",
            During::Gadget => "b4",
            During::Question => {
                let mut open = question(world, run).await;
                if during == Some(place) {
                    kill(world, asking(world, run)).await;
                    let again = question(world, run).await;
                    assert_eq!(again, open, "{run}");
                    open = again;
                }
                asked = Some(open);
                continue;
            }
        };
        let name = format!("{run}/{name}");
        let mut waiting = world.gate.arrival(&name).await;
        if during == Some(place) {
            kill(world, waiting.process).await;
            // Begun again. The first one is never let through.
            waiting = world.gate.arrival(&name).await;
        }
        drop(waiting);
    }
    let asked = asked.expect("the run asks");
    let yes = Decision::Result("yes".to_owned());
    let answered = world.client.answer(run, asked.id, yes).await;
    answered.expect("it waits");
    world.client.result(run).await.expect("it ends")
}

/// Waits until the run asks.
async fn question(world: &World, run: &str) -> OpenQuestion {
    let question = world.question(run).await;
    assert_eq!(question.text, "c2?", "{run}");
    question
}

/// The process of the worker whose gadget asks.
fn asking(world: &World, run: &str) -> u32 {
    let processes = world.effects(&format!("{run}-asks"));
    processes[0].parse().expect("a number")
}

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

async fn undisturbed(world: &mut World) -> RunOutcome {
    let outcome = drive(world, UNDISTURBED, None, async |_, _| {}).await;
    assert_eq!(outcome.summary.reason, FinishReason::Completed);
    assert_eq!(outcome.summary.answer, "All done.");
    assert_eq!(world.effects(UNDISTURBED).len(), 12);
    outcome
}

#[tokio::test]
async fn what_was_finished_is_never_done_again() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let mut worker = Some(world.worker().await);
    let undisturbed = undisturbed(&mut world).await;
    for killed in [Killed::Worker, Killed::Engine, Killed::Both] {
        for during in PLACES {
            let run = format!("{:-<13}", format!("{killed:?}-{during:?}").to_lowercase());
            let run = &run[..UNDISTURBED.len()];
            let kill = async |world: &mut World, _| {
                let current = worker.take().expect("it serves");
                let address = current.address.clone();
                if matches!(killed, Killed::Engine | Killed::Both) {
                    world.restate.kill().await;
                }
                if matches!(killed, Killed::Worker | Killed::Both) {
                    current.kill().await;
                } else {
                    worker = Some(current);
                }
                if matches!(killed, Killed::Engine | Killed::Both) {
                    world.restate.restart().await;
                }
                if worker.is_none() {
                    worker = Some(WorkerProcess::at(world, &[], &address).await);
                }
            };
            let outcome = drive(&mut world, run, Some(during), kill).await;
            check(&world, run, &outcome, &undisturbed);
        }
    }
}

#[tokio::test]
async fn one_of_two_workers_is_killed() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let Some(mut proxy) = Proxy::start(&world).await else {
        return;
    };
    let undisturbed = undisturbed(&mut world).await;
    for during in PLACES {
        let run = format!("{:-<13}", format!("two-{during:?}").to_lowercase());
        let mut gone = None;
        let kill = async |_: &mut World, process| gone = Some(proxy.kill(process).await);
        let outcome = drive(&mut world, &run, Some(during), kill).await;
        check(&world, &run, &outcome, &undisturbed);
        let address = gone.expect("one was killed");
        proxy.restart(&world, &address).await;
    }
}
