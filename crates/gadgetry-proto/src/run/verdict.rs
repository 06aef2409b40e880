//! The verdict on a reply whose calls are all answered: what follows.

use crate::event::FinishReason;
use crate::run::config::OnTextOnlyReply;
use crate::run::ended_reply::EndedReply;
use crate::run::plan::Plan;
use crate::run::truncation::Truncation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Finish(FinishReason),
    Continue,
    /// The model has to end the run in another way, and is reminded of it.
    Remind,
    AskUser,
}

/// The facts that the verdict depends on in addition to the reply itself.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and any of them may be true together with any other"
)]
pub(super) struct Facts {
    /// A gadget has completed the run.
    pub(super) is_completed: bool,
    /// A decision or the failure of a gadget ends the run.
    pub(super) stopped: Option<FinishReason>,
    pub(super) has_called: bool,
    /// The model should learn what was wrong with its reply, and did not already miss the form in the one before.
    pub(super) is_corrected: bool,
    /// The user has sent a message meanwhile.
    pub(super) has_injected: bool,
    /// The number of the reply in its run, from 1.
    pub(super) iteration: u32,
}

/// Decides. The order of the endings is the order of their strength:
///
/// 1. A gadget that completed the run gives the answer, whatever else happened in that reply.
/// 2. A stop, by a decision or by a failed gadget, was requested; the model must not get another turn.
/// 3. Something that the model has not read yet (results, a correction, the user's message) keeps the run alive even
///    after a reply that was cut off: the next reply can make up for it.
/// 4. Only then the way the reply ended counts: a truncated reply is not an answer.
/// 5. A whole reply without calls means what [`RunConfig::text_only`] says.
///
/// Whatever would continue still ends at the limit of iterations, and a single call after its answer.
pub(super) fn verdict(facts: &Facts, reply: &EndedReply, plan: &Plan) -> Verdict {
    let verdict = if facts.is_completed {
        Verdict::Finish(FinishReason::TaskCompleted)
    } else if let Some(reason) = facts.stopped {
        Verdict::Finish(reason)
    } else if facts.has_called || facts.is_corrected || facts.has_injected {
        Verdict::Continue
    } else {
        match &reply.truncation {
            Some(truncation) => Verdict::Finish(truncated(truncation)),
            // The model announced a call and made none: that is not an answer.
            None if reply.lacks_call => Verdict::Finish(FinishReason::ModelError),
            None => text_only(reply, plan),
        }
    };
    let ends = matches!(verdict, Verdict::Finish(_));
    if !ends && plan.is_single_call() {
        return Verdict::Finish(FinishReason::Completed);
    }
    if !ends && facts.iteration >= plan.config.max_iterations {
        return Verdict::Finish(FinishReason::MaxIterations);
    }
    verdict
}

fn truncated(truncation: &Truncation) -> FinishReason {
    match truncation {
        Truncation::Length => FinishReason::Truncated,
        Truncation::Filter => FinishReason::Withheld,
        Truncation::Error
        | Truncation::Disconnect
        | Truncation::Unspecified
        | Truncation::Reason(_) => FinishReason::ModelError,
        Truncation::Cancelled => FinishReason::Cancelled,
        // It cuts calls, and no reply.
        Truncation::NextTurn => FinishReason::Completed,
    }
}

fn text_only(reply: &EndedReply, plan: &Plan) -> Verdict {
    match &plan.config.text_only {
        OnTextOnlyReply::Acknowledge => Verdict::Continue,
        OnTextOnlyReply::Remind(_) => Verdict::Remind,
        OnTextOnlyReply::WaitForInput if plan.config.asks.human => Verdict::AskUser,
        OnTextOnlyReply::WaitForInput | OnTextOnlyReply::Terminate if reply.lacks_answer => {
            Verdict::Finish(FinishReason::ModelError)
        }
        OnTextOnlyReply::WaitForInput | OnTextOnlyReply::Terminate => {
            Verdict::Finish(FinishReason::Completed)
        }
    }
}
