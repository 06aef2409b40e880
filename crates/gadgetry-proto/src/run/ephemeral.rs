//! Messages that only one request carries: hints to the model about the state of the run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// State of a run when a request is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunStatus {
    /// The number of the request, from 1.
    pub iteration: u32,
    /// Maximum number of replies.
    pub max_iterations: u32,
    /// The amount spent so far, in US dollars.
    pub spent: f64,
    /// The amount that may be spent.
    pub budget: Option<f64>,
    /// Calls in the reply before; `None` before the first.
    pub calls_before: Option<u32>,
}

/// A message that only the next request carries, after everything else.
///
/// ```
/// use gadgetry_proto::run::{RunStatus, EphemeralMessage};
/// let hint = EphemeralMessage::Parallel(2);
/// let now = RunStatus { iteration: 2, max_iterations: 4, spent: 1.5, budget: None, calls_before: Some(1) };
/// assert!(hint.message(&now).is_some_and(|text| text.contains("one reply")));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EphemeralMessage {
    /// This text, with every request.
    Text(String),
    /// The hint of [`iteration_hint`].
    Iterations(HintTiming),
    /// The hint of [`parallel_hint`].
    Parallel(u32),
    /// Made by the closure of this name in [`Code::trailing`](crate::run::Code::trailing).
    Code(String),
}

/// Makes a message from the status of a run; `None` for no message. It must be a function of what it is given, or a replay differs.
pub type MakeEphemeralMessage = Arc<dyn Fn(&RunStatus) -> Option<String> + Send + Sync>;

impl EphemeralMessage {
    /// The message for a request that is made now. That of a closure only its [`Plan`](crate::run::Plan) can make.
    pub fn message(&self, status: &RunStatus) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Iterations(timing) => timing.hint(status),
            Self::Parallel(few) => {
                let calls = status.calls_before?;
                (1..*few).contains(&calls).then(|| PARALLEL.to_owned())
            }
            Self::Code(_) => None,
        }
    }
}

const PARALLEL: &str = "[Calls that do not need each other's results can stand in one reply; they run at the same time.]";

/// When the model reads how many replies are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HintTiming {
    /// The hint comes with every request.
    Always,
    /// The hint comes from half of the replies on.
    #[default]
    Late,
    /// The hint comes from four fifths of the replies on.
    Urgent,
}

impl HintTiming {
    fn hint(self, status: &RunStatus) -> Option<String> {
        let percent = match self {
            Self::Always => 0,
            Self::Late => 50,
            Self::Urgent => 80,
        };
        let RunStatus {
            iteration,
            max_iterations,
            ..
        } = *status;
        let progress = u64::from(iteration) * 100 / u64::from(max_iterations.max(1));
        (progress >= percent).then(|| {
            let advice = match max_iterations.saturating_sub(iteration) {
                0 => ": the last one. Finish now.".to_owned(),
                left if progress >= 80 => format!(": {left} left. Finish now."),
                left => format!(": {left} left."),
            };
            format!("[Reply {iteration} of {max_iterations}{advice}]")
        })
    }
}

/// A hint to the model how many replies it has left.
///
/// ```
/// use gadgetry_proto::run::{HintTiming, RunStatus, iteration_hint};
/// let hint = iteration_hint(HintTiming::Late);
/// let at = |iteration| RunStatus { iteration, max_iterations: 4, spent: 0.0, budget: None, calls_before: None };
/// assert_eq!(hint.message(&at(1)), None);
/// assert_eq!(hint.message(&at(4)).as_deref(), Some("[Reply 4 of 4: the last one. Finish now.]"));
/// ```
pub fn iteration_hint(timing: HintTiming) -> EphemeralMessage {
    EphemeralMessage::Iterations(timing)
}

/// A hint to the model that several blocks fit into one reply, after a reply with at least one call but fewer than `few`.
pub fn parallel_hint(few: u32) -> EphemeralMessage {
    EphemeralMessage::Parallel(few)
}
