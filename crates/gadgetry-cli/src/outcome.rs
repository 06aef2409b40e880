//! The outcome of a run as data: what `agent --output-format json` prints, and the calls that were denied.

use std::collections::BTreeSet;
use std::time::Instant;

use gadgetry::driver::Observer;
use gadgetry::proto::event::{Ancestor, CallAnswer, Event, EventKind, FinishReason};
use gadgetry::proto::id::CallId;
use gadgetry::proto::run::Summary;
use gadgetry::proto::usage::Usage;
use serde::Serialize;

use crate::approvals::UNATTENDED;
use crate::checkpoints::Checkpoints;
use crate::error::Error;
use crate::lines::one_line;

/// The version of the object.
const VERSION: u32 = 1;

/// JSON Schema of [`Outcome`].
pub(crate) const SCHEMA: &str = include_str!("outcome.schema.json");

/// A call that did not run because it was denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeniedCall {
    pub(crate) gadget: String,
    pub(crate) invocation_id: String,
    pub(crate) reason: String,
}

/// The outcome of a run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    v: u32,
    answer: &'a str,
    reason: FinishReason,
    /// Why the exit code is not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    session: Option<String>,
    model: &'a str,
    iterations: u32,
    duration_ms: u64,
    usage: Usage,
    /// US dollars; `None` if the price of a model call is not known.
    cost: Option<f64>,
    known_cost: f64,
    denied: &'a [DeniedCall],
    /// Files that the run has changed, by their paths in the workspace.
    files_changed: Vec<String>,
    /// Why those that commands have changed are not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    commands_not_recorded: Option<String>,
}

/// Facts that the events of a run add up to.
#[derive(Debug)]
pub(crate) struct Recorder {
    begun: Instant,
    usage: Usage,
    /// Calls that have started, each with the path of the run that it is in.
    started: BTreeSet<(Vec<Ancestor>, CallId)>,
    denied: Vec<DeniedCall>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            usage: Usage::default(),
            started: BTreeSet::new(),
            denied: Vec::new(),
        }
    }
}

impl Observer for Recorder {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others decide nothing")]
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ModelCallEnd { usage, .. } => self.usage = self.usage.plus(*usage),
            EventKind::GadgetStart { call, .. } => {
                self.started.insert((event.path.clone(), *call));
            }
            EventKind::GadgetResult {
                call,
                invocation_id,
                gadget_name,
                answer,
                ..
            } => {
                // What a gadget itself says is not a denial: it has started.
                let has_started = self.started.remove(&(event.path.clone(), *call));
                if let CallAnswer::Error(reason) = answer
                    && !has_started
                    && reason.starts_with("Denied")
                {
                    self.denied.push(DeniedCall {
                        gadget: gadget_name.clone(),
                        invocation_id: invocation_id.to_string(),
                        reason: reason.clone(),
                    });
                }
            }
            _ => {}
        }
    }
}

impl Recorder {
    /// The outcome, with these facts about the run.
    pub(crate) fn outcome<'a>(
        &'a self,
        summary: &'a Summary,
        error: Option<String>,
        (session, model): (Option<String>, &'a str),
        changes: Option<&Checkpoints>,
    ) -> Outcome<'a> {
        let duration = self.begun.elapsed().as_millis();
        Outcome {
            kind: "result",
            v: VERSION,
            answer: &summary.answer,
            reason: summary.reason,
            error,
            session,
            model,
            iterations: summary.iterations,
            duration_ms: u64::try_from(duration).unwrap_or(u64::MAX),
            usage: self.usage,
            cost: summary.total_cost,
            known_cost: summary.known_cost,
            denied: &self.denied,
            files_changed: changes.map(Checkpoints::changed).unwrap_or_default(),
            commands_not_recorded: changes.and_then(Checkpoints::problem),
        }
    }

    /// Fails if calls were denied because no user was there to allow them.
    pub(crate) fn verdict(&self) -> Result<(), Error> {
        let denied = self.denied.iter();
        let denied = denied.filter(|it| it.reason.ends_with(UNATTENDED));
        let names: Vec<&str> = denied.map(|it| it.gadget.as_str()).collect();
        if names.is_empty() {
            return Ok(());
        }
        let (calls, were) = match names.len() {
            1 => ("call", "was"),
            _ => ("calls", "were"),
        };
        let of: BTreeSet<&str> = names.iter().copied().collect();
        let of: Vec<String> = of.into_iter().map(one_line).collect();
        Err(Error::Denied(format!(
            "{} {calls} {were} denied, because no user was at a terminal: {}; allow them with --approval 'allow …', or with --yes --sandbox",
            names.len(),
            of.join(", ")
        )))
    }
}
