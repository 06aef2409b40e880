//! The kinds of events.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, amount};
use crate::delta::StopReason;
use crate::error::{Diagnostic, ModelError};
use crate::event::approval::{Approval, ApprovalAnswer};
use crate::event::info::RunInfo;
use crate::event::reason::{Compacted, FinishReason};
use crate::id::{ApprovalId, CallId, InvocationId};
use crate::media::Media;
use crate::message::{CustomContentBlock, Purpose};
use crate::piece::{ArgsPartial, BlockDelta, BlockEnd, BlockStart, CallStart};
use crate::usage::Usage;

/// The content of an [`Event`](super::Event).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum EventKind {
    /// The run begins. A run that was given no identity has no such event.
    RunStart(Arc<RunInfo>),
    /// A request is sent to the model.
    ModelCallStart {
        /// The number of the reply in its run, from 1.
        iteration: u32,
        /// The purpose of the call.
        #[serde(default, skip_serializing_if = "Purpose::is_reply")]
        purpose: Purpose,
    },
    /// The reply has ended. Its gadgets may still run.
    ModelCallEnd {
        /// The number of the reply in its run, from 1.
        iteration: u32,
        /// The purpose of the call.
        #[serde(default, skip_serializing_if = "Purpose::is_reply")]
        purpose: Purpose,
        /// The reason the model stopped.
        stop_reason: StopReason,
        /// The token counts.
        usage: Usage,
        /// The cost of the call in US dollars; `None`, in JSON `null`, if the price is not known.
        #[serde(default)]
        cost: Option<f64>,
        /// The error, if the call failed. Its fields are those of the event; its message is `error`.
        #[serde(flatten)]
        error: Option<ModelError>,
    },
    /// The visible part of the current reply is withdrawn: it was cut off before anything acted on it, and another reply
    /// replaces it. Its `ModelCallEnd` follows.
    ReplyWithdrawn {
        /// The number of the reply in its run, from 1.
        iteration: u32,
    },
    /// A request failed and will be retried.
    ModelRetry {
        /// The number of the reply in its run, from 1.
        iteration: u32,
        /// The number of the retry for this request, from 1.
        attempt: u32,
        /// The number of retries that may follow.
        left: u32,
        /// The delay before the retry, in milliseconds.
        delay_ms: u64,
        /// The error. Its fields are those of the event; its message is `error`.
        #[serde(flatten)]
        error: ModelError,
    },
    /// A request waited for a rate limit.
    RateLimited {
        /// The delay, in milliseconds.
        delay_ms: u64,
    },
    /// Older parts of the conversation were removed or summarised.
    Compaction(Compacted),
    /// A piece of the visible text.
    Text {
        /// More text.
        text: String,
    },
    /// Reasoning of the model.
    Reasoning {
        /// More text.
        text: String,
    },
    /// The header of a call is complete.
    ///
    /// A call that is cut off is completed all the same, and answered with an error. No other events than this one and
    /// those of its arguments has a call that a transform removes, or whose reply is requested again before it is
    /// complete. Its number is used for no other call.
    GadgetCallStart {
        /// The number of the call, from here to its last event.
        call: CallId,
        /// The header.
        #[serde(flatten)]
        start: CallStart,
    },
    /// More text of an argument.
    GadgetArgsPartial {
        /// The call.
        call: CallId,
        /// The text.
        #[serde(flatten)]
        args: ArgsPartial,
    },
    /// A call is complete.
    GadgetCall {
        /// The number of the call.
        call: CallId,
        /// The call as written.
        #[serde(flatten)]
        written: Arc<Call>,
    },
    /// A call waits for approval by the user. Other gadgets run meanwhile.
    ///
    /// A question that is repeated after the process has ended is this event again, with the same id if the same is shown.
    ApprovalRequired {
        /// The call.
        call: CallId,
        /// The id of the call for the model.
        invocation_id: InvocationId,
        /// What the user is shown.
        #[serde(flatten)]
        approval: Arc<Approval>,
    },
    /// An approval was answered or withdrawn.
    ApprovalAnswered {
        /// The call.
        call: CallId,
        /// The id of the call for the model.
        invocation_id: InvocationId,
        /// The approval.
        approval: ApprovalId,
        /// The answer.
        #[serde(flatten)]
        answer: ApprovalAnswer,
    },
    /// A gadget starts.
    GadgetStart {
        /// The call.
        call: CallId,
        /// The id of the call for the model.
        invocation_id: InvocationId,
        /// The name as written.
        gadget_name: String,
        /// The parameters that the gadget receives, after defaults, interceptors and decisions.
        #[serde(default)]
        parameters: Arc<Value>,
    },
    /// A gadget starts again, because the program ended while it was running.
    GadgetRestarted {
        /// The call.
        call: CallId,
        /// The id of the call for the model.
        invocation_id: InvocationId,
        /// The name as written.
        gadget_name: String,
    },
    /// A call was answered with a result or an error.
    GadgetResult {
        /// The call.
        call: CallId,
        /// The id of the call for the model.
        invocation_id: InvocationId,
        /// The name as written.
        gadget_name: String,
        /// The result or the error, in JSON the field `result` or `error`.
        #[serde(flatten)]
        answer: CallAnswer,
        /// The duration of the gadget in milliseconds; 0 for a call that was not executed.
        duration_ms: u64,
        /// The cost of the gadget in US dollars, without its subagents. It includes what interrupted executions had reported.
        #[serde(default)]
        cost: f64,
        /// Pictures, sounds and files of the result.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<Media>,
        /// Whether the run ends with this result.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        completes_run: bool,
    },
    /// The cost of a gadget that ended after its call was answered.
    GadgetCost {
        /// The call.
        call: CallId,
        /// The id of the call for the model.
        invocation_id: InvocationId,
        /// The name as written.
        gadget_name: String,
        /// The cost in US dollars.
        cost: f64,
    },
    /// A running gadget reports progress.
    GadgetProgress {
        /// The call.
        call: CallId,
        /// The id of the call for the model.
        invocation_id: InvocationId,
        /// The name as written.
        gadget_name: String,
        /// The report.
        message: String,
    },
    /// A gadget, or the run itself, waits for input of the user.
    HumanInputRequired {
        /// The call, if a gadget asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The id of the call for the model; present if `call` is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invocation_id: Option<InvocationId>,
        /// The question.
        question: String,
    },
    /// The user has answered, or is not available.
    HumanInputReceived {
        /// The call, if a gadget asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The id of the call for the model; present if `call` is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invocation_id: Option<InvocationId>,
        /// Whether there was an answer.
        answered: bool,
    },
    /// A call was not executed because of a dependency or a limit.
    GadgetSkipped {
        /// The call.
        call: CallId,
        /// The id of the call for the model.
        invocation_id: InvocationId,
        /// The name as written.
        gadget_name: String,
        /// The dependency, or the name of the limit.
        failed_dependency: String,
        /// The reason, as the model reads it.
        error: String,
    },
    /// A custom block opens.
    CustomBlockStart(BlockStart),
    /// More content of a custom block.
    CustomBlockDelta(BlockDelta),
    /// A custom block ends.
    CustomBlockEnd(BlockEnd),
    /// A custom block is complete.
    CustomBlock(CustomContentBlock),
    /// A problem or correction in a reply.
    Diagnostic(Diagnostic),
    /// All calls of a reply are answered.
    IterationEnd {
        /// The number of the reply in its run, from 1.
        iteration: u32,
    },
    /// The run has finished. This is its last event.
    RunFinished {
        /// The reason it finished.
        reason: FinishReason,
        /// The number of replies.
        iterations: u32,
        /// The cost of models, gadgets and subagents in US dollars; `None`, in JSON `null`, if the price of a model call is
        /// not known.
        #[serde(default)]
        total_cost: Option<f64>,
        /// The answer of the run: the result of the gadget that completed it, or the visible text of the last reply that
        /// has any.
        #[serde(default)]
        answer: String,
        /// The error of the model call that ended the run. Its fields are those of the event; its message is `error`.
        #[serde(flatten)]
        error: Option<ModelError>,
    },
}

impl EventKind {
    /// The call that the event is about, by its number in its run; `None` for an event that is about no call.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others are about no call"
    )]
    pub fn call(&self) -> Option<CallId> {
        match self {
            Self::GadgetCallStart { call, .. }
            | Self::GadgetArgsPartial { call, .. }
            | Self::GadgetCall { call, .. }
            | Self::ApprovalRequired { call, .. }
            | Self::ApprovalAnswered { call, .. }
            | Self::GadgetStart { call, .. }
            | Self::GadgetRestarted { call, .. }
            | Self::GadgetResult { call, .. }
            | Self::GadgetCost { call, .. }
            | Self::GadgetProgress { call, .. }
            | Self::GadgetSkipped { call, .. } => Some(*call),
            Self::HumanInputRequired { call, .. } | Self::HumanInputReceived { call, .. } => *call,
            _ => None,
        }
    }

    /// The cost that the event adds to its run, in US dollars; `None` if it is not known.
    ///
    /// The sum over all events, those of subagents included, is the total of the run. Amounts that are negative or not
    /// finite count as 0, and so do events without a cost.
    ///
    /// ```
    /// use gadgetry_proto::event::Event;
    /// let event: Event = serde_json::from_str(
    ///     r#"{ "v": 1, "seq": 9, "timeMs": 0, "type": "gadget_cost", "call": 0, "invocationId": "a", "gadgetName": "A", "cost": 0.5 }"#,
    /// )?;
    /// assert_eq!(event.kind.own_cost(), Some(0.5));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others cost nothing")]
    pub fn own_cost(&self) -> Option<f64> {
        match self {
            Self::ModelCallEnd { cost, .. } => cost.map(amount),
            Self::GadgetResult { cost, .. } | Self::GadgetCost { cost, .. } => Some(amount(*cost)),
            _ => Some(0.0),
        }
    }
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum CallAnswer {
    /// The result of the gadget.
    Result(String),
    /// The error that the model reads.
    Error(String),
}
