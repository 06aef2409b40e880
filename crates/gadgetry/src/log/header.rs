//! The first line of a log.

use std::sync::Arc;

use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::event::RunInfo;
use gadgetry_proto::message::Message;
use gadgetry_proto::run::{Code, Plan, Run, RunConfig, RunOptions};
use gadgetry_proto::schema::{GadgetSpec, Registry};
use serde::{Deserialize, Serialize};

use super::{LogError, VERSION};

/// Parts that a run was made from: its configuration, its gadgets and the conversation.
///
/// Options with their default value are omitted, so a change of a default is a new [version](LogError::Version).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogHeader {
    /// The version of the format.
    pub(super) version: u32,
    /// The configuration of the run.
    pub config: RunConfig,
    /// Specifications of the gadgets, as the model knows them.
    pub gadgets: Vec<GadgetSpec>,
    /// The messages before the first request.
    pub conversation: Vec<Message>,
    /// The long results that the conversation refers to; see [`Run::with_outputs`].
    #[serde(default, skip_serializing_if = "is_empty")]
    pub outputs: OutputStore,
    /// The identity of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Arc<RunInfo>>,
    /// Code that decides about the run, which no header can contain: its kinds, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<String>,
}

fn is_empty(outputs: &OutputStore) -> bool {
    *outputs == OutputStore::default()
}

impl LogHeader {
    /// Makes the header of a run of `plan` that continues `conversation`.
    pub fn of(plan: &Plan, conversation: Vec<Message>) -> Self {
        // The run adds the viewer again; it is the last one.
        let added = usize::from(plan.has_viewer()) + usize::from(plan.has_search());
        let own = plan.registry().len() - added;
        let gadgets = plan.registry().iter().take(own);
        Self {
            version: VERSION,
            config: plan.config().clone(),
            gadgets: gadgets.map(|gadget| gadget.spec().clone()).collect(),
            conversation,
            outputs: OutputStore::default(),
            run: plan.info().cloned(),
            code: deciding_code(plan).map(str::to_owned).collect(),
        }
    }

    /// Returns the header without its conversation and the results that the conversation refers to.
    #[must_use]
    pub fn without_conversation(&self) -> Self {
        Self {
            version: self.version,
            config: self.config.clone(),
            gadgets: self.gadgets.clone(),
            conversation: Vec::new(),
            outputs: self.outputs.without_outputs(),
            run: self.run.clone(),
            code: self.code.clone(),
        }
    }

    /// Returns the plan of the run, validated.
    ///
    /// # Errors
    ///
    /// [`LogError::Code`] if code decides about the run: transforms, interceptors, a custom block with a map, or a
    /// closure that makes trailing messages. Otherwise if the gadgets or the configuration are invalid, as in a log that
    /// was edited.
    pub fn plan(&self) -> Result<Arc<Plan>, LogError> {
        self.without_code()?;
        let registry = Registry::new(self.gadgets.iter().cloned())?;
        let plan = Plan::new(self.config.clone(), registry, Code::default())?;
        Ok(Arc::new(plan.with(RunOptions {
            info: self.run.clone(),
            ..RunOptions::default()
        })))
    }

    /// Returns the run at its beginning. Fails as [`LogHeader::plan`] does.
    pub fn run(&self) -> Result<Run, LogError> {
        let run = Run::new(&self.plan()?, self.conversation.clone());
        Ok(run.with_outputs(self.outputs.clone()))
    }

    /// Fails if code decides about the run.
    pub(crate) fn without_code(&self) -> Result<(), LogError> {
        match self.code.first() {
            Some(code) => Err(LogError::Code(code.clone())),
            None => Ok(()),
        }
    }
}

/// Returns the code without which a replay would differ. [`CustomBlock::on_start`](gadgetry_proto::tags::CustomBlock::on_start)
/// is not included: it decides nothing.
fn deciding_code(plan: &Plan) -> impl Iterator<Item = &'static str> {
    let code = plan.code();
    let kinds = [
        (!code.transforms.is_empty(), "a transform of deltas"),
        (!code.interceptors.is_empty(), "an interceptor"),
        (
            code.blocks.values().any(|block| block.map.is_some()),
            "the closure of a custom block",
        ),
        (
            !code.trailing.is_empty(),
            "the closure of a trailing message",
        ),
    ];
    let found = kinds.into_iter().filter(|(is_there, _)| *is_there);
    found.map(|(_, what)| what)
}
