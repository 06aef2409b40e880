//! What others decide.

mod every;
mod gadgets;
mod known;
mod model;
mod people;

use std::sync::Arc;

use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_proto::run::{Decision, QuestionKind};

use crate::support::sim::script::{Script, block};

const CANCELLED: &str = "Error: The run was cancelled before the call was done";

/// Calls of `ids` to `Bell`.
fn bells(ids: &[&str]) -> String {
    let calls = ids.iter().map(|id| block(&format!("Bell:{id}"), &[]));
    calls.collect()
}

/// Decides about one call, after some time.
fn about(mut script: Script, id: &'static str, delay_ms: u64, decision: Decision) -> Script {
    script.decide = Arc::new(move |question| {
        let it = match question {
            QuestionKind::BeforeGadget { start } => start.invocation_id.as_str(),
            QuestionKind::AfterGadget { about, .. }
            | QuestionKind::DependencySkipped { about, .. }
            | QuestionKind::Human { about, .. }
            | QuestionKind::Interrupted { about, .. } => about.invocation_id.as_str(),
            QuestionKind::BeforeModelCall { .. }
            | QuestionKind::BeforeCompaction { .. }
            | QuestionKind::AfterModelCall { .. }
            | QuestionKind::ModelError { .. }
            | QuestionKind::Input { .. } => "",
        };
        if it == id {
            (delay_ms, decision.clone())
        } else {
            (0, Decision::Proceed)
        }
    });
    script
}

/// Another request than the run's own.
fn request() -> Request {
    Request::default().messages(vec![Message::text(Role::User, "Instead")])
}
