//! Recording of a run by its driver.

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::StreamExt as _;
use gadgetry_proto::event::Event;
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::{Input, Output, QuestionRef, Report, Run};
use gadgetry_proto::time::Time;
use gadgetry_proto::tree::{CostTree, Node, NodeId, NodeKind};

use crate::journal::{
    Checkpoint, Durability, JournalError, Recorder, RunMessage, RunMessageContent, RunProgress,
};

/// Deltas and reports are kept this many milliseconds after the last commit, with the next of them.
const BATCH_MS: u64 = 50;

type Committing = BoxFuture<'static, Result<(), JournalError>>;

/// The journal of a run that is being driven. Decides when which entries are kept.
pub(crate) struct Recording {
    recorder: Box<dyn Recorder>,
    inbox: BoxStream<'static, RunMessage>,
    /// Costs of the run so far, for checkpoints.
    costs: CostTree,
    /// Durability that entries since the last commit need before the next effect.
    owed: Option<Durability>,
    /// Durability of the last commit.
    kept: Durability,
    /// The last commit, if nothing has waited for it yet.
    committing: Option<Committing>,
    committed_at: Time,
    /// The messages that have not become inputs yet.
    messages: Vec<(Awaited, u64)>,
}

impl Recording {
    /// Makes the recording of a run with these costs so far.
    pub(crate) fn new(
        recorder: Box<dyn Recorder>,
        inbox: BoxStream<'static, RunMessage>,
        costs: CostTree,
    ) -> Self {
        Self {
            recorder,
            inbox,
            costs,
            owed: None,
            kept: Durability::Written,
            committing: None,
            committed_at: Time::default(),
            messages: Vec::new(),
        }
    }

    /// Returns the number of the run's own model calls that have ended.
    pub(crate) fn model_calls(&self) -> u32 {
        let nodes = self.costs.children(NodeId::ROOT).iter();
        let nodes = nodes.filter_map(|id| self.costs.node(*id));
        let is_call = |node: &&Node| matches!(node.kind, NodeKind::ModelCall { .. });
        let ended = nodes.filter(|node| node.ended.is_some()).filter(is_call);
        u32::try_from(ended.count()).unwrap_or(u32::MAX)
    }

    /// Waits for the next message from outside; `None` once another owner has the run.
    ///
    /// Cancel safety: nothing is lost.
    pub(crate) async fn next_message(&mut self) -> Option<RunMessageContent> {
        let RunMessage { id, content } = self.inbox.next().await?;
        let awaited = match &content {
            RunMessageContent::Answer { question, .. } => Awaited::Answer(*question),
            RunMessageContent::Command(_) => Awaited::Command,
        };
        self.messages.push((awaited, id));
        Some(content)
    }

    /// Records an input that the run handles next.
    pub(crate) fn record(&mut self, now: Time, input: &Input) {
        self.recorder.record(now, input);
        if !self.messages.is_empty() {
            self.take_message(input);
        }
        self.owed = self.owed.max(Some(durability(input)));
    }

    /// Notes the message that an input came from.
    fn take_message(&mut self, input: &Input) {
        let awaited = match input {
            Input::Command(_) => Awaited::Command,
            Input::Decision(id, _) => Awaited::Answer(QuestionRef::Run(*id)),
            Input::Report(call, Report::HumanAnswer { number, .. }) => {
                Awaited::Answer(QuestionRef::Gadget {
                    call: *call,
                    number: *number,
                })
            }
            Input::Report(_, Report::ApprovalAnswered { approval, .. }) => {
                Awaited::Answer(QuestionRef::Approval(*approval))
            }
            Input::Delta(_)
            | Input::ModelClosed(_)
            | Input::Done(..)
            | Input::Report(..)
            | Input::RateLimited(_)
            | Input::ExternalSpend(_)
            | Input::Interrupted
            | Input::Tick => return,
        };
        let found = self.messages.iter().position(|(it, _)| *it == awaited);
        if let Some(found) = found {
            let (_, message) = self.messages.remove(found);
            self.recorder.took(message);
        }
    }

    /// Notes an event of the run.
    pub(crate) fn event(&mut self, event: &Event) {
        self.costs.apply(event);
    }

    /// Starts to persist everything that `effects` depend on, which the run returned before `next`. Returns the commit to wait
    /// for before any of them is carried out.
    pub(crate) fn before(
        &mut self,
        effects: &[Output],
        next: &Output,
        run: &Run,
    ) -> Option<Committing> {
        let effects = effects.iter().chain([next]);
        let needed = effects.filter_map(|effect| self.needed(effect)).max();
        let is_late = run.now().since(self.committed_at) >= BATCH_MS;
        match (needed, self.owed) {
            (Some(needed), owed) => {
                if owed.is_some() || self.kept < needed {
                    self.commit(needed.max(owed.unwrap_or(needed)), run, next);
                }
                self.committing.take()
            }
            // Nothing waits for it.
            (None, Some(Durability::Synced)) => {
                self.commit(Durability::Synced, run, next);
                None
            }
            (None, Some(Durability::Written)) if is_late => {
                self.commit(Durability::Written, run, next);
                None
            }
            (None, _) => None,
        }
    }

    /// Returns the durability that entries need before this effect; `None` if it depends on nothing.
    fn needed(&self, effect: &Output) -> Option<Durability> {
        match effect {
            Output::Start(_) | Output::Finished(_) => Some(Durability::Synced),
            // The first request may be sent again after a power failure. Later ones follow a finished step.
            Output::Send(_) | Output::Ask(_) => Some(self.owed.unwrap_or(Durability::Written)),
            Output::Event(_) | Output::CloseModel | Output::Cancel(_) | Output::Wait(_) => None,
        }
    }

    fn commit(&mut self, durability: Durability, run: &Run, output: &Output) {
        self.recorder.progress(self.progress(run, output));
        // Not while a reply is read: it is part of the state, so a long one would be copied several times, and its deltas are
        // quickly played.
        if self.recorder.wants_checkpoint()
            && matches!(output, Output::Wait(_))
            && !run.pending().reply
        {
            let run = run.save();
            let costs = self.costs.clone();
            self.recorder.checkpoint(Checkpoint { run, costs });
        }
        self.committing = Some(self.recorder.commit(durability));
        self.committed_at = run.now();
        self.kept = durability;
        self.owed = None;
    }

    fn progress(&self, run: &Run, output: &Output) -> RunProgress {
        let questions = run.open_questions();
        let pending = run.pending();
        // A gadget that asks again after a crash may have its answer already: it is about to continue.
        let is_answered = |id| {
            self.messages
                .iter()
                .any(|(it, _)| *it == Awaited::Answer(id))
        };
        let asks = |call: &CallId| {
            questions.iter().any(|question| {
                let is_of_gadget = !matches!(question.id, QuestionRef::Run(_));
                is_of_gadget && question.call == Some(*call) && !is_answered(question.id)
            })
        };
        RunProgress {
            iterations: run.iterations(),
            known_cost: run.total_cost(),
            is_waiting: matches!(output, Output::Wait(None))
                && !pending.reply
                && pending.gadgets.iter().all(asks)
                && !questions.is_empty(),
            gadgets: pending.gadgets,
            questions,
            summary: if let Output::Finished(summary) = output {
                Some(summary.clone())
            } else {
                None
            },
        }
    }
}

/// The input that a message leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Answer(QuestionRef),
    Command,
}

/// Returns the durability that an input needs before the next effect: a finished step must not be repeated.
fn durability(input: &Input) -> Durability {
    match input {
        Input::ModelClosed(_)
        | Input::Done(..)
        | Input::Decision(..)
        | Input::Command(_)
        | Input::Interrupted
        // The cost of a gadget that is interrupted is what it had reported, and its next input may be far away.
        // So is the answer to a question of a gadget, which the user learns of from the journal.
        | Input::Report(
            _,
            Report::HumanQuestion { .. }
            | Report::HumanAnswer { .. }
            | Report::ApprovalRequired(_)
            | Report::ApprovalAnswered { .. }
            | Report::Cost(_)
            | Report::SubagentCost { .. },
        ) => Durability::Synced,
        // Each run keeps what it knows. The sooner its parent keeps an event of a subagent, the fewer of them it misses.
        Input::Report(_, Report::Child { event, .. }) if event.kind.own_cost() != Some(0.0) => {
            Durability::Synced
        }
        Input::Delta(_)
        | Input::Report(..)
        | Input::RateLimited(_)
        | Input::ExternalSpend(_)
        | Input::Tick => Durability::Written,
    }
}
