//! What a run tells. One closed enum; whoever watches a run reads this stream and nothing else.

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::delta::{EndReason, StopReason};
use crate::error::Diagnostic;
use crate::id::{BlockId, InvocationId};
use crate::message::{Attributes, CustomContentBlock};
use crate::time::Time;
use crate::usage::Usage;

/// One event of a run. In JSON: `seq`, `timeMs`, and the fields of its kind beside `type`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Counts from 0 without gaps.
    pub seq: u64,
    /// When, in milliseconds of the run.
    #[serde(rename = "timeMs")]
    pub time: Time,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum EventKind {
    /// A request goes to the model.
    ModelCallStart {
        /// From 1.
        iteration: u32,
    },
    /// The reply has ended. Its gadgets may still run.
    ModelCallEnd {
        /// From 1.
        iteration: u32,
        /// How it ended.
        stop_reason: StopReason,
        /// Tokens.
        usage: Usage,
        /// What the call cost, in US dollars; 0 where no price is known.
        cost: f64,
        /// The words of a model error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Visible text.
    Text {
        /// More text.
        text: String,
    },
    /// What the model thinks.
    Reasoning {
        /// More text.
        text: String,
    },
    /// The header of a block is complete.
    GadgetCallStart {
        /// As written.
        gadget_name: String,
        /// The call.
        invocation_id: InvocationId,
        /// Ids that must be done first.
        dependencies: Vec<InvocationId>,
    },
    /// More text of an argument.
    GadgetArgsPartial {
        /// The call.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
        /// The pointer of the argument.
        field_path: String,
        /// More of its value.
        delta: String,
        /// Whether the value is now complete.
        is_field_complete: bool,
    },
    /// A block is complete.
    GadgetCall(Call),
    /// A gadget starts to run.
    GadgetStart {
        /// The call.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
    },
    /// A call was answered with a result or an error.
    GadgetResult {
        /// The call.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
        /// `result` or `error` in JSON.
        #[serde(flatten)]
        answer: Answer,
        /// How long the gadget ran; 0 for a call that was not executed.
        duration_ms: u64,
        /// What it cost, in US dollars.
        #[serde(default)]
        cost: f64,
    },
    /// A call was not executed because of a dependency or a limit.
    GadgetSkipped {
        /// The call.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
        /// The dependency, or the name of the limit.
        failed_dependency: String,
        /// Why, in words for the model.
        error: String,
    },
    /// A custom block opens.
    CustomBlockStart {
        /// The block.
        block_id: BlockId,
        /// The key of its definition.
        tag: String,
        /// Its attributes.
        attrs: Attributes,
    },
    /// More content of a custom block.
    CustomBlockDelta {
        /// The block.
        block_id: BlockId,
        /// The key of its definition.
        tag: String,
        /// More content.
        delta: String,
    },
    /// A custom block ends.
    CustomBlockEnd {
        /// The block.
        block_id: BlockId,
        /// The key of its definition.
        tag: String,
        /// Why.
        reason: EndReason,
    },
    /// A custom block is complete.
    CustomBlock(CustomContentBlock),
    /// Something noteworthy about a reply.
    Diagnostic(Diagnostic),
    /// All calls of a reply are answered.
    IterationEnd {
        /// From 1.
        iteration: u32,
    },
    /// Nothing more will happen.
    RunFinished {
        /// Why.
        reason: FinishReason,
        /// Replies the model gave.
        iterations: u32,
        /// Model and gadgets, in US dollars.
        total_cost: f64,
        /// The words of the error, if one ended the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// What the model is told about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// It worked.
    Result(String),
    /// It did not.
    Error(String),
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model answered without calling a gadget.
    Completed,
    /// A gadget ended the run.
    TaskCompleted,
    /// The limit of iterations.
    MaxIterations,
    /// The last reply was cut at the token limit.
    Truncated,
    /// The model failed.
    ModelError,
    /// Somebody stopped it.
    Cancelled,
}
