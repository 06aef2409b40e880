//! The first line of a log.

use std::sync::Arc;

use gadgetry_proto::block::{Anchoring, Markers};
use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::convo::compaction::Compaction;
use gadgetry_proto::dialect::Dialect;
use gadgetry_proto::limits::Limits;
use gadgetry_proto::message::{Message, ToolChoice};
use gadgetry_proto::prompt::PromptTemplate;
use gadgetry_proto::run::{Asks, OnUnmet, Retry, Run, RunSpec, TextOnly, Tools, Trailing};
use gadgetry_proto::sched;
use gadgetry_proto::spec::{GadgetSpec, Registry, Unterminated};
use gadgetry_proto::tags::{CustomBlock, Transform};
use gadgetry_proto::usage::Price;
use serde::{Deserialize, Serialize};

use super::{LogError, VERSION};

/// What a run was made from: a [`RunSpec`] without code, and the conversation.
///
/// What is as by default is left out of the file, but for what the first version had, and for the reasoning tags: where
/// they are absent, there are none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Header {
    /// Of the format.
    pub(super) version: u32,
    /// What the model was told about each gadget.
    pub gadgets: Vec<GadgetSpec>,
    /// See [`RunSpec::system`].
    pub system: Option<String>,
    /// See [`RunSpec::prompt`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub prompt: PromptTemplate,
    /// Custom blocks that pass, by tag; in front of `custom_blocks`.
    #[serde(default)]
    pub tags: Vec<String>,
    /// See [`RunSpec::custom_blocks`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom_blocks: Vec<CustomBlock>,
    /// See [`RunSpec::reasoning_tags`]. Absent in logs of runs that had none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning_tags: Vec<String>,
    /// See [`RunSpec::reasoning_open`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub reasoning_open: bool,
    /// See [`RunSpec::dialects`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dialects: Vec<Dialect>,
    /// See [`RunSpec::markers`].
    pub markers: Markers,
    /// See [`RunSpec::anchoring`].
    pub anchoring: Anchoring,
    /// See [`RunSpec::tools`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub tools: Tools,
    /// See [`RunSpec::tool_choice`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_choice: ToolChoice,
    /// See [`RunSpec::limits`].
    pub limits: Limits,
    /// See [`RunSpec::schedule`].
    pub schedule: sched::Config,
    /// See [`RunSpec::max_iterations`].
    pub max_iterations: u32,
    /// See [`RunSpec::default_timeout_ms`].
    pub default_timeout_ms: Option<u64>,
    /// See [`RunSpec::text_only`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub text_only: TextOnly,
    /// See [`RunSpec::on_unmet`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_unmet: OnUnmet,
    /// See [`RunSpec::price`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// See [`RunSpec::asks`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub asks: Asks,
    /// See [`RunSpec::retry`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// See [`RunSpec::budget`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// See [`RunSpec::output_limit`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_limit: Option<usize>,
    /// See [`RunSpec::context_window`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// See [`RunSpec::compaction`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
    /// See [`RunSpec::trailing`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailing: Vec<Trailing>,
    /// See [`RunSpec::stop_on_gadget_error`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop_on_gadget_error: bool,
    /// See [`RunSpec::unterminated`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub unterminated: Unterminated,
    /// What the run was asked.
    pub conversation: Vec<Message>,
    /// The long results that the conversation names; see [`Run::with_outputs`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub outputs: OutputStore,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Header {
    /// For a run of these gadgets about this conversation; everything else as by default.
    pub fn new(registry: &Registry, conversation: Vec<Message>) -> Self {
        Self::without_code(RunSpec::default(), registry, conversation)
    }

    /// For a run of `spec` about this conversation. Fails with [`LogError::Code`] if it has transforms, interceptors, a
    /// custom block with [`Transform::Map`] or a [`Trailing::By`].
    pub fn of(spec: RunSpec, conversation: Vec<Message>) -> Result<Self, LogError> {
        let mapped = |block: &CustomBlock| matches!(block.transform, Transform::Map(_));
        let made = |trailing: &Trailing| matches!(trailing, Trailing::By(_));
        let code = [
            (!spec.transforms.is_empty(), "a transform of deltas"),
            (!spec.interceptors.is_empty(), "an interceptor"),
            (
                spec.custom_blocks.iter().any(mapped),
                "the closure of a custom block",
            ),
            (
                spec.trailing.iter().any(made),
                "the closure of a trailing message",
            ),
        ];
        if let Some((_, what)) = code.into_iter().find(|(is_there, _)| *is_there) {
            return Err(LogError::Code(what));
        }
        let registry = Arc::clone(&spec.registry);
        Ok(Self::without_code(spec, &registry, conversation))
    }

    fn without_code(spec: RunSpec, registry: &Registry, conversation: Vec<Message>) -> Self {
        let gadgets = registry.iter().map(|gadget| gadget.spec().clone());
        Self {
            version: VERSION,
            gadgets: gadgets.collect(),
            system: spec.system,
            prompt: spec.prompt,
            tags: Vec::new(),
            custom_blocks: spec.custom_blocks,
            reasoning_tags: spec.reasoning_tags,
            reasoning_open: spec.reasoning_open,
            dialects: spec.dialects,
            markers: spec.markers,
            anchoring: spec.anchoring,
            tools: spec.tools,
            tool_choice: spec.tool_choice,
            limits: spec.limits,
            schedule: spec.schedule,
            max_iterations: spec.max_iterations,
            default_timeout_ms: spec.default_timeout_ms,
            text_only: spec.text_only,
            on_unmet: spec.on_unmet,
            price: spec.price,
            asks: spec.asks,
            retry: spec.retry,
            budget: spec.budget,
            output_limit: spec.output_limit,
            context_window: spec.context_window,
            compaction: spec.compaction,
            trailing: spec.trailing,
            stop_on_gadget_error: spec.stop_on_gadget_error,
            unterminated: spec.unterminated,
            conversation,
            outputs: OutputStore::default(),
        }
    }

    /// The run from its beginning.
    pub fn run(&self) -> Result<Run, LogError> {
        let tags = self.tags.iter().map(CustomBlock::new);
        let spec = RunSpec {
            registry: Arc::new(Registry::new(self.gadgets.iter().cloned())?),
            system: self.system.clone(),
            prompt: self.prompt.clone(),
            custom_blocks: tags.chain(self.custom_blocks.iter().cloned()).collect(),
            reasoning_tags: self.reasoning_tags.clone(),
            reasoning_open: self.reasoning_open,
            dialects: self.dialects.clone(),
            markers: self.markers.clone(),
            anchoring: self.anchoring,
            tools: self.tools,
            tool_choice: self.tool_choice.clone(),
            limits: self.limits.clone(),
            schedule: self.schedule.clone(),
            max_iterations: self.max_iterations,
            default_timeout_ms: self.default_timeout_ms,
            text_only: self.text_only.clone(),
            on_unmet: self.on_unmet.clone(),
            price: self.price.clone(),
            asks: self.asks,
            retry: self.retry.clone(),
            budget: self.budget,
            output_limit: self.output_limit,
            context_window: self.context_window,
            compaction: self.compaction.clone(),
            trailing: self.trailing.clone(),
            stop_on_gadget_error: self.stop_on_gadget_error,
            unterminated: self.unterminated,
            // What is code is in no log.
            transforms: Vec::new(),
            interceptors: Vec::new(),
        };
        let run = Run::new(spec, self.conversation.clone())?;
        Ok(run.with_outputs(self.outputs.clone()))
    }
}
