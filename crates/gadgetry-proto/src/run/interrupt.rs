//! What a run waits for, and how it continues when the process that drove it has ended.

use crate::call::Outcome;
use crate::error::ModelErrorKind;
use crate::id::CallId;
use crate::run::Run;
use crate::run::io::{Close, Output};
use crate::run::question::{Question, QuestionId};
use crate::run::state::{ModelError, Phase, Status};

/// What the model reads about a gadget that was running.
const GADGET_INTERRUPTED: &str = "interrupted: the program ended while this gadget was running. \
     Whether it took effect is unknown; check before you call it again";

const REPLY_INTERRUPTED: &str = "the program ended before the model had finished its reply";

/// The work that a run has handed to its driver and waits for.
///
/// ```
/// use gadgetry_proto::run::{Run, RunSpec};
/// let mut run = Run::ask(RunSpec::default(), "Hello")?;
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
    /// Whether the run waits for nothing but the clock.
    pub fn is_empty(&self) -> bool {
        !self.reply && self.gadgets.is_empty() && self.questions.is_empty()
    }
}

impl Run {
    /// The work in flight. What is still to come out of [`Run::poll`] is not in flight yet.
    pub fn pending(&self) -> PendingWork {
        let queued = &self.state.outputs;
        let is_queued = |what: &dyn Fn(&Output) -> bool| queued.iter().any(what);
        let reading = matches!(self.state.phase, Phase::Reading | Phase::Summarising);
        let is_running = |status: &Status| matches!(status, Status::Running { .. });
        let running = self.state.calls.iter();
        let running = running.filter(|record| is_running(&record.status));
        let running = running.map(|record| record.id);
        let started =
            |id: &CallId| !is_queued(&|it| matches!(it, Output::Start(it) if it.id == *id));
        let asked =
            |id: &QuestionId| !is_queued(&|it| matches!(it, Output::Ask(it) if it.id == *id));
        PendingWork {
            reply: reading && self.state.sent && !is_queued(&|it| matches!(it, Output::Send(_))),
            gadgets: running
                .chain(self.state.cancelled.keys().copied())
                .filter(started)
                .collect(),
            questions: self.state.questions.keys().copied().filter(asked).collect(),
        }
    }

    /// All work in flight is lost. Gadgets have failed, questions are asked again, and a reply of which nothing was
    /// used is requested again; any other reply counts as cut off.
    pub(super) fn interrupted(&mut self) {
        let lost = self.pending();
        for id in lost.questions {
            if let Some(open) = self.state.questions.get(&id) {
                let kind = open.kind.clone();
                self.put(Output::Ask(Question { id, kind }));
            }
        }
        for id in lost.gadgets {
            self.done(id, Outcome::error(GADGET_INTERRUPTED));
        }
        if !lost.reply {
            return;
        }
        if self.state.phase == Phase::Summarising {
            return self.close_summary(Close::Failed(REPLY_INTERRUPTED.to_owned()));
        }
        if self.state.acted_on {
            return self.close_reply(Close::Failed(REPLY_INTERRUPTED.to_owned()));
        }
        self.abandon_reply(&ModelError {
            kind: ModelErrorKind::Transport,
            words: REPLY_INTERRUPTED.to_owned(),
            retry_after_ms: None,
        });
        // Not an attempt of the retry policy: neither the model nor the network has failed.
        self.retry();
    }
}
