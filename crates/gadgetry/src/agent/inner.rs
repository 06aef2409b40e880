//! Shared parts of the runs of an agent.

use std::sync::Arc;

use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::message::Message;
use gadgetry_proto::run::{Plan, RunConfig};
use gadgetry_proto::schema::GadgetSpec;

use crate::agent::error::AgentError;
use crate::agent::left_to_model::LeftToModel;
use crate::context::CancellationToken;
use crate::driver::SubagentParent;
use crate::services::Services;
use gadgetry_providers::model::Model;

/// The parts of an agent, shared by its clones and runs.
#[derive(Clone)]
pub(super) struct Inner {
    pub(super) plan: Arc<Plan>,
    /// Except for the scope, which each run gets of its own.
    pub(super) services: Services,
    /// The model before it was given tools.
    pub(super) model: Arc<dyn Model>,
    pub(super) left_to_model: LeftToModel,
    /// The messages before the question, in a run without a conversation.
    pub(super) opening: Vec<Message>,
    /// The long results that they name.
    pub(super) outputs: OutputStore,
    pub(super) name: Option<Arc<str>>,
    /// True if each run is one call, which its model only writes down.
    pub(super) is_single_call: bool,
    pub(super) cancellation: Option<CancellationToken>,
    pub(super) parent: Option<SubagentParent>,
}

impl Inner {
    /// The same agent with its model as that was recognised.
    pub(super) fn with_model(&self, model: Arc<dyn Model>) -> Result<Self, AgentError> {
        let mut config = self.plan.config().clone();
        self.left_to_model.set(&mut config, &model.info())?;
        self.with_plan(config, self.services.clone(), model)
    }

    /// The same agent, which calls gadgets as a run that began with these options does; `None` if it does so already, or cannot.
    pub(super) fn in_form_of(&self, began: &RunConfig) -> Option<Self> {
        let mut config = self.plan.config().clone();
        self.left_to_model.keep_form(&mut config, began);
        if config == *self.plan.config() {
            return None;
        }
        self.with_plan(config, self.services.clone(), Arc::clone(&self.model))
            .ok()
    }

    /// The same agent with these options, services and model.
    pub(super) fn with_plan(
        &self,
        config: RunConfig,
        mut services: Services,
        model: Arc<dyn Model>,
    ) -> Result<Self, AgentError> {
        let registry = Arc::clone(services.toolbox.registry());
        let plan = Plan::new(config, registry, self.plan.code().clone())?;
        services.model = model_for(&model, &plan)?;
        Ok(Self {
            plan: Arc::new(plan),
            services,
            model,
            ..self.clone()
        })
    }
}

/// The model, with the gadgets of the run as its tools if it calls them so.
pub(super) fn model_for(model: &Arc<dyn Model>, plan: &Plan) -> Result<Arc<dyn Model>, AgentError> {
    if plan.config().tools.is_native() {
        with_tools(model, plan)
    } else {
        Ok(Arc::clone(model))
    }
}

/// The model that knows the gadgets of the run as its tools.
fn with_tools(model: &Arc<dyn Model>, plan: &Plan) -> Result<Arc<dyn Model>, AgentError> {
    let gadgets = plan.registry().iter().map(|gadget| {
        let parameters = gadget.shown_parameters().clone();
        let spec = gadget.spec().clone();
        GadgetSpec { parameters, ..spec }
    });
    let gadgets: Vec<_> = gadgets.collect();
    let given = model.with_tools(&gadgets);
    given.ok_or_else(|| AgentError::NoNativeTools {
        model: model.name().to_owned(),
    })
}
