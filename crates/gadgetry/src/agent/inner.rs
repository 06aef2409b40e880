//! Shared parts of the runs of an agent.

use std::sync::Arc;

use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::message::Message;
use gadgetry_proto::run::Plan;

use crate::context::CancellationToken;
use crate::driver::SubagentParent;
use crate::services::Services;
use gadgetry_providers::model::Model;

/// The parts of an agent, shared by its clones and runs.
pub(super) struct Inner {
    pub(super) plan: Arc<Plan>,
    /// Except for the scope, which each run gets of its own.
    pub(super) services: Services,
    /// The model before it was given tools.
    pub(super) model: Arc<dyn Model>,
    /// The messages before the question, in a run without a conversation.
    pub(super) opening: Vec<Message>,
    /// The long results that they name.
    pub(super) outputs: OutputStore,
    pub(super) name: Option<Arc<str>>,
    pub(super) cancellation: Option<CancellationToken>,
    pub(super) parent: Option<SubagentParent>,
}
