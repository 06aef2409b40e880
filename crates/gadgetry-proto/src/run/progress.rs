//! The state and the results of a turn, and the parts of a run that it works with.

use serde::{Deserialize, Serialize};

use crate::convo::compaction;
use crate::error::ModelError;
use crate::event::FinishReason;
use crate::run::calls::Calls;
use crate::run::context::Context;
use crate::run::conversation::RunConversation;
use crate::run::ended_reply::EndedReply;
use crate::run::money::Money;
use crate::run::pipeline::Pipeline;
use crate::run::reply::StreamedReply;
use crate::run::summary::SummaryReply;
use crate::time::Time;

/// The state of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Stage {
    /// Nothing is sent yet.
    New,
    /// A summary is read, to make the conversation shorter first.
    Summarising(Box<SummaryReply>),
    /// The compaction before the request waits for a decision.
    Compacting(Box<compaction::CompactionPlan>),
    /// The request waits for a decision.
    Held,
    Reading(Box<StreamedReply>),
    /// The request is sent again at this time.
    Backoff(Time),
    /// A decision is due about a model call that failed.
    Failed(ModelError),
    /// The turn is over; nothing follows.
    Over,
}

/// The result of a turn.
#[must_use]
pub(super) enum Progress {
    /// The turn waits for an input.
    Waits,
    /// The reply was read.
    Read(EndedReply),
    /// The run ends.
    Ends {
        reason: FinishReason,
        /// Whether the request was never sent: then the turn does not count.
        is_unsent: bool,
    },
}

/// The result of a cancelled turn.
pub(super) enum CancelledTurn {
    /// The request was never sent, so it does not count.
    Unsent,
    Sent,
    /// A part of the reply was read, and is in the conversation.
    Read,
}

/// The parts of a run that a turn works with.
pub(super) struct Parts<'a> {
    pub(super) money: &'a mut Money,
    pub(super) calls: &'a mut Calls,
    pub(super) conversation: &'a mut RunConversation,
    pub(super) pipeline: &'a mut Pipeline,
    pub(super) cx: Context<'a>,
}

impl Parts<'_> {
    pub(super) fn is_spent(&self) -> bool {
        self.money.exhausts(self.cx.plan.config.budget)
    }
}
