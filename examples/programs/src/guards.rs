//! Logging, a limit on tokens, a guard, and keys that neither the model nor the log reads.

use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use gadgetry::control::{BeforeGadget, BeforeModelCall, Hook, RunContext, Start};
use gadgetry::presets::Logging;
use gadgetry::{Agent, Event, EventKind, Model, Request, gadget};

use crate::Error;

/// Reads a file
#[gadget]
fn read_file(path: String) -> Result<String, std::io::Error> {
    std::fs::read_to_string(path)
}

/// Ends a run whose replies have taken this many tokens, and keeps it in the project.
#[derive(Default)]
pub(crate) struct Guard {
    tokens: AtomicU64,
}

impl Hook for Guard {
    fn event(&self, _: &RunContext, event: &Event) {
        if let EventKind::ModelCallEnd { usage, .. } = &event.kind {
            self.tokens
                .fetch_add(usage.output_tokens, Ordering::Relaxed);
        }
    }

    async fn before_model_call(&self, _: &RunContext, _: &Request) -> BeforeModelCall {
        match self.tokens.load(Ordering::Relaxed) {
            ..1_000 => BeforeModelCall::Proceed,
            _ => BeforeModelCall::Stop,
        }
    }

    async fn before_gadget(&self, _: &RunContext, start: &Start) -> BeforeGadget {
        match start.parameters["path"].as_str() {
            Some(path) if leads_out(path) => {
                BeforeGadget::Deny("only files of the project".to_owned())
            }
            _ => BeforeGadget::Proceed,
        }
    }
}

/// Returns whether a path leads out of the project. Links are not followed.
fn leads_out(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Answers with a guard of its own for each run.
pub(crate) async fn answer(model: impl Model + 'static, prompt: &str) -> Result<String, Error> {
    let agent = Agent::builder()
        .model(model)
        .gadget(ReadFile)
        .observer(Logging)
        .build()?;
    Ok(agent.ask(prompt).hook(Guard::default()).text().await?)
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), Error> {
    println!(
        "{}",
        answer(gadgetry::model("haiku")?, "What does README.md say?").await?
    );
    Ok(())
}
