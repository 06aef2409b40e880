//! What a run tells. One closed enum; whoever watches a run reads this stream and nothing else.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{Call, amount};
use crate::delta::StopReason;
use crate::error::Diagnostic;
use crate::error::ModelErrorKind;
use crate::id::{CallId, InvocationId};
use crate::media::Media;
use crate::message::{CustomContentBlock, Purpose};
use crate::piece::{ArgsPartial, BlockDelta, BlockEnd, BlockStart, CallStart};
use crate::time::Time;
use crate::usage::Usage;

/// One event of a run. In JSON: `seq`, `timeMs`, and the fields of its kind beside `type`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Event {
    /// Counts from 0 without gaps.
    pub seq: u64,
    /// When, in milliseconds of the run.
    #[serde(rename = "timeMs")]
    pub time: Time,
    /// Whose: the calls that started the subagent it comes from, the outermost first. Empty for the run's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Ancestor>,
    /// What.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// An event of the run itself: `path` is empty.
    pub fn new(seq: u64, time: Time, kind: EventKind) -> Self {
        Self {
            seq,
            time,
            path: Vec::new(),
            kind,
        }
    }

    /// 0 for the run's own events, 1 for those of its subagents, 2 for those of theirs.
    pub fn depth(&self) -> usize {
        self.path.len()
    }

    /// The visible text that the run's own model has written; `None` for any other event, and for the text of subagents.
    ///
    /// ```
    /// use gadgetry_proto::event::Event;
    /// let event: Event = serde_json::from_str(r#"{ "seq": 1, "timeMs": 0, "type": "text", "text": "Hi" }"#)?;
    /// assert_eq!(event.own_text(), Some("Hi"));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn own_text(&self) -> Option<&str> {
        if let EventKind::Text { text } = &self.kind
            && self.path.is_empty()
        {
            Some(text)
        } else {
            None
        }
    }
}

/// A call that has started a subagent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ancestor {
    /// The call in its run.
    pub call: CallId,
    /// Its id for the model.
    pub invocation_id: InvocationId,
    /// Which of the subagents of this call, from 0.
    pub agent: u32,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum EventKind {
    /// A request goes to the model.
    ModelCallStart {
        /// From 1.
        iteration: u32,
        /// What for.
        #[serde(default, skip_serializing_if = "Purpose::is_reply")]
        purpose: Purpose,
    },
    /// The reply has ended. Its gadgets may still run.
    ModelCallEnd {
        /// From 1.
        iteration: u32,
        /// What for.
        #[serde(default, skip_serializing_if = "Purpose::is_reply")]
        purpose: Purpose,
        /// How it ended.
        stop_reason: StopReason,
        /// Tokens.
        usage: Usage,
        /// What the call cost, in US dollars; `None`, in JSON `null`, if no price is known.
        #[serde(default)]
        cost: Option<f64>,
        /// The words of a model error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// What the current reply has shown is withdrawn: it was cut off before anything acted on it, and another reply
    /// takes its place. Its end, and what it cost, follow.
    ReplyWithdrawn {
        /// From 1.
        iteration: u32,
    },
    /// The same request goes to the model again, after a while.
    ModelRetry {
        /// From 1.
        iteration: u32,
        /// Which retry of this request, from 1.
        attempt: u32,
        /// How many may follow.
        left: u32,
        /// How long until then.
        delay_ms: u64,
        /// What kind of error there was.
        kind: ModelErrorKind,
        /// Its words.
        error: String,
    },
    /// A request had to wait for a rate limit.
    RateLimited {
        /// How long.
        delay_ms: u64,
    },
    /// Older parts of the conversation were replaced by less.
    Compaction(Compacted),
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
    /// The header of a call is complete. A call that is never completed has no other events than this and its arguments.
    GadgetCallStart {
        /// The number that the call has if it is completed. No other call of the run has it.
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
    /// A gadget starts to run.
    GadgetStart {
        /// The call.
        call: CallId,
        /// Its id for the model.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
        /// As they go to the gadget: completed, behind all interceptors and decisions.
        #[serde(default)]
        parameters: Arc<Value>,
    },
    /// A call was answered with a result or an error.
    GadgetResult {
        /// The call.
        call: CallId,
        /// Its id for the model.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
        /// `result` or `error` in JSON.
        #[serde(flatten)]
        answer: Answer,
        /// How long the gadget ran; 0 for a call that was not executed.
        duration_ms: u64,
        /// What it cost, in US dollars, without its subagents.
        #[serde(default)]
        cost: f64,
        /// What belongs to the result beside its text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<Media>,
        /// Whether the run ends with it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        completes_run: bool,
    },
    /// A gadget whose call was answered before it ended has cost this as well.
    GadgetCost {
        /// The call.
        call: CallId,
        /// Its id for the model.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
        /// In US dollars.
        cost: f64,
    },
    /// A running gadget tells how far it is.
    GadgetProgress {
        /// The call.
        call: CallId,
        /// Its id for the model.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
        /// Its words.
        message: String,
    },
    /// A gadget, or the run itself, waits for what a person says.
    HumanInputRequired {
        /// The call, if a gadget asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// Its id for the model; present if `call` is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invocation_id: Option<InvocationId>,
        /// What is asked.
        question: String,
    },
    /// The person has answered, or cannot be asked.
    HumanInputReceived {
        /// The call, if a gadget asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// Its id for the model; present if `call` is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        invocation_id: Option<InvocationId>,
        /// Whether there was an answer.
        answered: bool,
    },
    /// A call was not executed because of a dependency or a limit.
    GadgetSkipped {
        /// The call.
        call: CallId,
        /// Its id for the model.
        invocation_id: InvocationId,
        /// As written.
        gadget_name: String,
        /// The dependency, or the name of the limit.
        failed_dependency: String,
        /// Why, in words for the model.
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
        /// Model and gadgets, in US dollars; `None`, in JSON `null`, if the price of a model call is not known.
        #[serde(default)]
        total_cost: Option<f64>,
        /// What the run answers: the result of the gadget that completed it, or the visible text of the last reply that
        /// has any.
        #[serde(default)]
        answer: String,
        /// The words of the error, if one ended the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
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
            | Self::GadgetStart { call, .. }
            | Self::GadgetResult { call, .. }
            | Self::GadgetCost { call, .. }
            | Self::GadgetProgress { call, .. }
            | Self::GadgetSkipped { call, .. } => Some(*call),
            Self::HumanInputRequired { call, .. } | Self::HumanInputReceived { call, .. } => *call,
            _ => None,
        }
    }

    /// What the event itself adds to the cost of its run, in US dollars; `None` if the price is not known.
    ///
    /// This is the one place that says so: the sum over all events of a run and of its subagents is what the run has
    /// cost. Amounts that are negative or not finite are 0.
    ///
    /// ```
    /// use gadgetry_proto::event::Event;
    /// let event: Event = serde_json::from_str(
    ///     r#"{ "seq": 9, "timeMs": 0, "type": "gadget_cost", "call": 0, "invocationId": "a", "gadgetName": "A", "cost": 0.5 }"#,
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
    /// The provider refused or withheld the last reply, or its rest.
    Withheld,
    /// The model failed.
    ModelError,
    /// Somebody stopped it.
    Cancelled,
    /// It has cost what it may.
    BudgetExceeded,
    /// A gadget failed, and the run was to stop then.
    GadgetError,
    /// A controller decided so.
    Stopped,
}

/// What compaction did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compacted {
    /// How.
    pub strategy: CompactionStrategy,
    /// Replies that were taken out, each with the results of its calls.
    pub removed_turns: u32,
    /// Messages that were taken out.
    pub removed_messages: u32,
    /// The estimate for the whole conversation, before.
    pub tokens_before: u64,
    /// The estimate afterwards.
    pub tokens_after: u64,
}

/// How older parts of a conversation are made less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CompactionStrategy {
    /// They are left out.
    SlidingWindow,
    /// The model summarises them.
    Summary,
    /// The model summarises them if they are many; a few are left out.
    #[default]
    Hybrid,
}
