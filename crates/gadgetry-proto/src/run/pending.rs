//! Work that a run waits for.

use crate::id::CallId;
use crate::run::question::QuestionId;

/// The work that a run has handed to its driver and waits for.
///
/// ```
/// use gadgetry_proto::run::{Run, RunConfig};
/// use gadgetry_proto::schema::Registry;
/// let plan = RunConfig::default().plan(Registry::default())?;
/// let mut run = Run::ask(&plan, "Hello");
/// assert!(run.pending().is_empty(), "the driver has not been given the request yet");
/// run.poll(); // the event of the model call
/// run.poll(); // the request
/// assert!(run.pending().reply);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingWork {
    /// Whether a model call is in flight: [`crate::run::Input::ModelClosed`] is still to come.
    pub reply: bool,
    /// Gadgets that are running, cancelled ones included: [`crate::run::Input::Done`] is still to come.
    pub gadgets: Vec<CallId>,
    /// Questions without an answer: [`crate::run::Input::Decision`] is still to come.
    pub questions: Vec<QuestionId>,
}

impl PendingWork {
    /// Returns `true` if the run waits for nothing but the clock.
    pub fn is_empty(&self) -> bool {
        !self.reply && self.gadgets.is_empty() && self.questions.is_empty()
    }
}
