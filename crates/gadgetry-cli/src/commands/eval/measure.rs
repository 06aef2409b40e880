//! Sends the questions of the cases, and reads the replies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use gadgetry::Model;
use gadgetry::proto::block::Markers;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::message::Request;
use gadgetry::proto::usage::Usage;
use serde::Serialize;
use tokio::time::{Instant, timeout};

use super::arm::schemas;
use super::cases::Case;
use super::score::{Made, Verdict, score};
use crate::cli::{Arm, Class};

/// Failures in succession after which an arm is given up.
const PATIENCE: usize = 3;

/// Bytes of a reply. The requested tokens are fewer.
const LIMIT: usize = 256 << 10;

/// Bytes that make a token, about.
const BYTES_A_TOKEN: usize = 4;

/// Plan of a measurement.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) arms: Vec<Arm>,
    pub(crate) cases: Arc<[Case]>,
    pub(crate) markers: Markers,
    /// The time for one reply.
    pub(crate) patience: Duration,
    /// Requests at a time.
    pub(crate) parallel: usize,
}

/// Measurements of one arm.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) arm: Arm,
    pub(super) probes: Vec<Probe>,
    /// Reason for giving up the arm.
    pub(super) given_up: Option<String>,
}

/// One reply, and what it is worth.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Probe {
    pub(super) case: String,
    #[serde(skip)]
    pub(super) class: Option<Class>,
    #[serde(skip)]
    pub(super) verdict: Verdict,
    pub(super) right: bool,
    /// The calls, as far as they could be read.
    pub(super) calls: Vec<MadeCall>,
    /// Reason why the reply is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// The beginning of its text, if it has no calls.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) text: String,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    /// Whether the server has not counted the tokens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) estimated: bool,
    pub(super) seconds: f64,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MadeCall {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Results so far, kept while they come, so that an interrupt leaves what there is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results(Arc<Mutex<Vec<Measured>>>);

impl Results {
    fn lock(&self) -> MutexGuard<'_, Vec<Measured>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the results so far.
    pub(crate) fn so_far(&self) -> Vec<Measured> {
        self.lock().clone()
    }

    fn begin(&self, arm: Arm) {
        self.lock().push(Measured {
            arm,
            probes: Vec::new(),
            given_up: None,
        });
    }

    /// Changes the arm that is being measured.
    fn change<T>(&self, with: impl FnOnce(&mut Measured) -> T) -> Option<T> {
        self.lock().last_mut().map(with)
    }
}

/// Measures the arms in their order, until `is_enough` is true of one. `progress` takes a line whenever something is known.
pub(crate) async fn measure(
    plan: Plan,
    results: Results,
    progress: impl Fn(String),
    is_enough: impl Fn(&Measured) -> bool,
) {
    for arm in plan.arms.clone() {
        results.begin(arm);
        arm_of(&plan, arm, &results, &progress).await;
        if results.change(|measured| is_enough(measured)) == Some(true) {
            return;
        }
    }
}

async fn arm_of(plan: &Plan, arm: Arm, results: &Results, progress: &impl Fn(String)) {
    progress(line(arm, &[], plan.cases.len()));
    // By index: the compiler does not see that a closure over references makes a future for another thread.
    let probes = stream::iter(0..plan.cases.len()).map(|at| probe(plan, arm, &plan.cases[at]));
    let mut probes = std::pin::pin!(probes.buffer_unordered(plan.parallel));
    let mut failures = 0;
    while let Some(probe) = probes.next().await {
        let error = probe.error.clone();
        failures = if error.is_some() { failures + 1 } else { 0 };
        results.change(|measured| {
            measured.probes.push(probe);
            progress(line(arm, &measured.probes, plan.cases.len()));
            if failures >= PATIENCE {
                measured.given_up = error;
            }
        });
        if failures >= PATIENCE {
            return;
        }
    }
}

/// A bar, and how many replies were right.
fn line(arm: Arm, probes: &[Probe], cases: usize) -> String {
    const WIDTH: usize = 20;
    let done = probes.len();
    let full = (done * WIDTH).checked_div(cases).unwrap_or(WIDTH);
    let bar = "#".repeat(full) + &"-".repeat(WIDTH.saturating_sub(full));
    let right = probes.iter().filter(|it| it.verdict.right).count();
    format!("[{bar}] {done}/{cases}  {}: {right} right", arm.name())
}

/// Sends one question. Whatever the server does, this ends in time.
async fn probe(plan: &Plan, arm: Arm, case: &Case) -> Probe {
    let began = Instant::now();
    let mut read = Read::default();
    let done = timeout(plan.patience, reply(plan, arm, case, &mut read)).await;
    let error = match done {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error),
        Err(_) => Some(format!("no whole reply within {:?}", plan.patience)),
    };
    let mut verdict = score(&case.right, &read.made, &schemas(case));
    // What is not there is not right.
    verdict.right &= error.is_none() && (read.has_text || !read.made.is_empty());
    let usage = read.usage.with_reasoning_in_output();
    Probe {
        case: case.id.clone(),
        class: Some(case.class),
        right: verdict.right,
        verdict,
        calls: read.made.into_iter().map(MadeCall::from).collect(),
        error,
        text: read.text,
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        estimated: usage.estimated,
        seconds: began.elapsed().as_secs_f64(),
    }
}

/// Contents of a reply.
#[derive(Default)]
struct Read {
    made: Vec<Made>,
    usage: Usage,
    has_text: bool,
    text: String,
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the others have no text, or little"
)]
async fn reply(plan: &Plan, arm: Arm, case: &Case, read: &mut Read) -> Result<(), String> {
    /// Characters of a text that are kept.
    const SHOWN: usize = 200;
    let constraint = arm.constraint(case, &plan.markers, &plan.model.info());
    let constraint = constraint.map_err(|error| error.to_string())?;
    let mut model = Arc::clone(&plan.model);
    if arm.is_native() {
        let native = model.with_tools(&case.tools);
        model = native.ok_or("the model does not support native tool calls")?;
    }
    let messages = arm.messages(case, &plan.markers);
    let asked: usize = messages.iter().map(length).sum();
    let reader = arm.reader(case, &plan.markers);
    let mut reader = reader.map_err(|error| error.to_string())?;
    let request = Request::default()
        .messages(messages)
        .iteration(1)
        .constraint(constraint);
    let mut deltas = model.stream(request);
    let (mut bytes, mut problem) = (0, None);
    while let Some(delta) = deltas.next().await {
        match &delta {
            Delta::Error(error) => problem = Some(error.message.clone()),
            Delta::Text { delta, .. }
            | Delta::Reasoning { delta, .. }
            | Delta::ToolCallDelta { delta, .. } => bytes += delta.len(),
            _ => {}
        }
        if bytes > LIMIT {
            problem = Some(format!("the reply is longer than {LIMIT} bytes"));
        }
        if problem.is_some() || !reader.push(delta) {
            break;
        }
    }
    drop(deltas);
    let (made, output) = reader.finish();
    read.made = made;
    read.usage = output.usage;
    if read.usage == Usage::default() {
        let tokens = |bytes: usize| bytes.div_ceil(BYTES_A_TOKEN) as u64;
        read.usage = Usage::estimate(tokens(asked), tokens(bytes));
    }
    let text = gadgetry::proto::convo::prompt_text(&output.message);
    read.has_text = !text.trim().is_empty();
    if read.made.is_empty() {
        read.text = text.trim().chars().take(SHOWN).collect();
    }
    match problem {
        Some(problem) => Err(problem),
        None => Ok(()),
    }
}

/// Bytes of a message.
fn length(message: &gadgetry::proto::message::Message) -> usize {
    gadgetry::proto::convo::prompt_text(message).len()
}

impl From<Made> for MadeCall {
    fn from(made: Made) -> Self {
        let (parameters, error) = match made.parameters {
            Ok(parameters) => (Some(parameters), None),
            Err(error) => (None, Some(error)),
        };
        Self {
            name: made.name,
            parameters,
            error,
        }
    }
}
