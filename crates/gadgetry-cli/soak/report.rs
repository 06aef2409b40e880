//! The lines of a soak, and its summary.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Shared;
use crate::flat::{self, FEWEST};
use crate::gateway::KINDS;

/// What memory may grow by, in KiB, whatever its size: allocators keep pages.
const SLACK_MEMORY: u64 = 2_048;
/// Files may differ by the connections that are open at the moment of a sample.
const SLACK_FILES: u64 = 16;

/// What was sampled.
pub(crate) struct Report {
    shared: Arc<Shared>,
    gateway: Samples,
    steady: Samples,
}

#[derive(Default)]
struct Samples {
    memory: Vec<u64>,
    files: Vec<u64>,
}

impl Samples {
    fn add(&mut self, sample: Option<(u64, u64)>) -> (u64, u64) {
        if let Some((memory, files)) = sample {
            self.memory.push(memory);
            self.files.push(files);
        }
        sample.unwrap_or_default()
    }
}

impl Report {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::clone(shared),
            gateway: Samples::default(),
            steady: Samples::default(),
        }
    }

    /// Notes the samples of a minute, and prints a line.
    pub(crate) fn minute(&mut self, gateway: Option<(u64, u64)>, steady: Option<(u64, u64)>) {
        let gateway = self.gateway.add(gateway);
        let steady = self.steady.add(steady);
        println!(
            "{:>4} min: {} requests, gateway {} KiB {} files; {} runs, agent {} KiB {} files; {} kills, {} full disks, {} jumps",
            self.gateway.memory.len(),
            self.shared.counts.all().iter().sum::<usize>(),
            gateway.0,
            gateway.1,
            self.shared.world.checked().0,
            steady.0,
            steady.1,
            get(&self.shared.durable.kills),
            get(&self.shared.durable.full_disks),
            get(&self.shared.jumps),
        );
    }

    /// Prints the summary, and notes what has grown.
    pub(crate) fn end(&self) {
        let shared = &self.shared;
        println!("\n| | |\n|---|---|");
        for ((_, _, word), count) in KINDS.iter().zip(shared.counts.all()) {
            println!("| requests to the gateway: {word} | {count} |");
        }
        let (checked, failed) = shared.world.checked();
        println!(
            "| runs of the agent that is not killed (ended by a fault of the model) | {checked} ({failed}) |"
        );
        let durable = &shared.durable;
        for (what, count) in [
            (
                "rounds of six runs of the agent that is killed",
                &durable.rounds,
            ),
            ("its kills", &durable.kills),
            ("its full disks", &durable.full_disks),
            ("its executions of gadgets", &durable.executions),
            (
                "its runs that a fault of the model has ended",
                &durable.failed,
            ),
            ("jumps of the clock", &shared.jumps),
        ] {
            println!("| {what} | {} |", get(count));
        }
        for (what, samples, slack) in [
            ("KiB of the gateway", &self.gateway.memory, SLACK_MEMORY),
            ("files of the gateway", &self.gateway.files, SLACK_FILES),
            ("KiB of the agent", &self.steady.memory, SLACK_MEMORY),
            ("files of the agent", &self.steady.files, SLACK_FILES),
        ] {
            let Some((second, last)) = flat::medians(samples) else {
                println!("| {what} | fewer than {FEWEST} samples |");
                continue;
            };
            println!("| {what}, second and last third | {second}, {last} |");
            if !flat::is_flat((second, last), slack) {
                shared.broken(format!("{what} grow from {second} to {last}"));
            }
        }
    }
}

fn get(count: &AtomicUsize) -> usize {
    count.load(Ordering::Relaxed)
}
