//! What a step costs: `cargo bench -p gadgetry-restate`. Needs the server that `cargo xtask test servers` installs.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench ends where something is wrong, and prints"
)]

#[path = "../tests/support/mod.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod support;

use std::process::{Child, Command};
use std::time::Instant;

use gadgetry_restate::Worker;
use serde_json::json;

use support::World;
use support::agent::agent;

/// Milliseconds of a step, at most.
const LIMIT: f64 = 2.0;

/// How much longer a step of 20 kB may take than one of 100 B. With Nagle's algorithm it is 40 ms more.
const LARGE: f64 = 5.0;

const CALLS: u32 = 1000;

#[tokio::main]
async fn main() {
    let Some(mut world) = World::start().await else {
        return;
    };
    let start = async |world: &World, listen: &str| {
        let (agent, spread) = agent(world.path(), &world.gate.address());
        let worker = Worker::builder(agent)
            .spread(spread)
            .restate(&world.restate.ingress)
            .admin(&world.restate.admin)
            .listen(listen.parse().expect("an address"));
        let worker = worker.build().expect("valid options");
        worker.start().await.expect("it serves")
    };
    let worker = start(&world, "127.0.0.1:0").await;
    let address = worker.address().to_string();
    let chain = |run: &str| {
        let gate = CALLS / 100;
        json!({"run": run, "scenario": "chain", "calls": CALLS, "gate": gate}).to_string()
    };
    let asleep = steps(&mut world, "asleep", &chain).await;
    println!("a step on processors that sleep in between: {asleep:.2} ms");
    let _awake = Awake::start();
    let best = steps(&mut world, "awake", &chain).await;
    println!("a step: {best:.2} ms (limit {LIMIT})");
    let ratio = large(&world).await;
    println!("a step of 20 kB: {ratio:.1} times one of 100 B (limit {LARGE})");
    let run = "resumed";
    world
        .client
        .submit(run, &chain(run))
        .await
        .expect("accepted");
    let first = world.gate.arrival("resumed/reply").await;
    worker.stop().await;
    let began = Instant::now();
    let _worker = start(&world, &address).await;
    world.gate.pass(run, &["reply"]).await;
    let resumed = began.elapsed().as_millis();
    drop(first);
    println!(
        "a run of {CALLS} steps is resumed after {resumed} ms, the start of a worker included"
    );
    let began = Instant::now();
    let runs = (0..100).map(|number| {
        let run = format!("run-{number}");
        let prompt = json!({"run": run, "steps": 5}).to_string();
        let world = &world;
        async move { world.run(&run, &prompt).await }
    });
    futures_util::future::join_all(runs).await;
    let all = began.elapsed().as_millis();
    println!("100 runs of 6 replies and 5 gadgets at once: {all} ms");
    assert!(best <= LIMIT, "{best} ms is more than {LIMIT}");
    assert!(ratio <= LARGE, "{ratio} is more than {LARGE}");
}

/// Milliseconds of a step in a run whose calls follow each other; the best of three.
async fn steps(world: &mut World, name: &str, chain: &impl Fn(&str) -> String) -> f64 {
    let mut best = f64::INFINITY;
    for round in 0..3 {
        let run = format!("{name}-{round}");
        let began = Instant::now();
        world
            .client
            .submit(&run, &chain(&run))
            .await
            .expect("accepted");
        let waiting = world.gate.arrival(&format!("{run}/reply")).await;
        let took = began.elapsed().as_secs_f64() * 1000.0;
        // A step is a command and what became of it.
        let size = world.restate.column(&run, "journal_size").await;
        let size: String = size
            .rsplit(':')
            .next()
            .unwrap_or_default()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        let steps = size.parse::<f64>().expect("a size") / 2.0;
        println!("{CALLS} calls, one after the other: {took:.0} ms, {steps} steps");
        best = best.min(took / steps);
        drop(waiting);
        world.client.result(&run).await.expect("it ends");
    }
    best
}

/// Processes that only run where nothing else does. On a virtual machine it takes longer to wake a processor than a step takes,
/// and a step wakes several.
struct Awake(Vec<Child>);

impl Awake {
    fn start() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let idle = || {
            let mut idle = Command::new("nice");
            idle.args(["-n", "19", "sh", "-c", "while :; do :; done"]);
            idle.spawn().expect("it starts")
        };
        Self((0..processors).map(|_| idle()).collect())
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        for process in &mut self.0 {
            // It has not ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// How much longer a run with results of 20 kB takes than one with results of 100 B.
async fn large(world: &World) -> f64 {
    let mut best = [f64::INFINITY; 2];
    for round in 0..3 {
        for (best, size) in best.iter_mut().zip([100, 20_000]) {
            let run = format!("size-{size}-{round}");
            let prompt = json!({"run": run, "steps": 50, "size": size}).to_string();
            let began = Instant::now();
            world.run(&run, &prompt).await;
            *best = best.min(began.elapsed().as_secs_f64());
        }
    }
    best[1] / best[0]
}
