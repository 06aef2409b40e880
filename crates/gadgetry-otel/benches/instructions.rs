//! How many instructions a call of an agent takes that is traced. `cargo xtask bench instructions` counts them with callgrind, next to
//! those of the same agent without traces.
//!
//! The tracer is that of the SDK, whose spans go nowhere: what a collector costs is not ours.

#![expect(clippy::print_stdout, reason = "a bench prints")]

#[path = "../../gadgetry/benches/agent/mod.rs"]
mod agent;
#[path = "../../gadgetry-proto/benches/support/mod.rs"]
mod support;

use gadgetry_otel::Spans;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use support::loads::{ITERATIONS, Load, PARALLEL};

/// Runs, and what one call of theirs is called.
const RUNS: [(&str, Load); 2] = [
    ("traced-agent-iteration", ITERATIONS),
    ("traced-agent-parallel-call", PARALLEL),
];

/// Takes spans, and drops them.
#[derive(Debug)]
struct Nowhere;

impl SpanExporter for Nowhere {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        Ok(())
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, rounds] = arguments.as_slice() else {
        for (name, _) in RUNS {
            println!("{name}");
        }
        return;
    };
    let calls: u32 = rounds.parse().expect("rounds are a number");
    let found = RUNS.into_iter().find(|(name, _)| name == case);
    let Some((_, load)) = found else {
        panic!("there is no case `{case}`")
    };
    let load = load.of_calls(calls);
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(Nowhere)
        .build();
    let spans = Spans::new(provider.tracer("bench"));
    let agent = agent::builder(&load, usize::MAX).hook(spans);
    let agent = agent.build().expect("the agent is well formed");
    agent::run(&agent::runtime(), &agent, &load);
}
