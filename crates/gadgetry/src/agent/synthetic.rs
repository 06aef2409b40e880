//! Calls that no model has made, for it to learn from.

use std::sync::Arc;

use gadgetry_proto::block::Writer;
use gadgetry_proto::convo::{result_content, results_message};
use gadgetry_proto::delta::Delta;
use gadgetry_proto::id::InvocationId;
use gadgetry_proto::message::Message;
use gadgetry_proto::reply::{Format, Reader};
use gadgetry_proto::run::{PlanError, RunConfig};
use gadgetry_proto::schema::Registry;
use serde_json::Value;

use crate::agent::AgentError;

/// A call that seems to have been made.
#[derive(Clone, Debug)]
pub(super) struct SyntheticCall {
    pub(super) gadget_name: String,
    pub(super) parameters: Value,
    pub(super) result: String,
    pub(super) id: String,
}

impl SyntheticCall {
    /// The reply that makes the call, and the message with its result, as a run would have kept them.
    pub(super) fn messages(
        &self,
        config: &RunConfig,
        registry: &Arc<Registry>,
    ) -> Result<[Message; 2], AgentError> {
        let Some(gadget) = registry.get(&self.gadget_name) else {
            return Err(AgentError::SyntheticGadget {
                id: self.id.clone(),
                problem: registry.unknown_gadget(&self.gadget_name),
            });
        };
        let writer = Writer {
            markers: &config.markers,
            anchoring: config.anchoring,
        };
        let mut block = String::new();
        let (name, id) = (gadget.name(), Some(self.id.as_str()));
        writer
            .write(
                &mut block,
                name,
                id,
                &[""; 0],
                &self.parameters,
                Some(gadget.schema()),
            )
            .map_err(|error| AgentError::SyntheticCall {
                id: self.id.clone(),
                error,
            })?;
        block.truncate(block.trim_end().len());
        let result = result_content(
            &InvocationId::from(self.id.as_str()),
            name,
            Ok(&self.result),
            &config.markers,
        );
        Ok([reply(block, config, registry)?, results_message([result])])
    }
}

/// The message that a run makes of a reply of this text.
fn reply(
    text: String,
    config: &RunConfig,
    registry: &Arc<Registry>,
) -> Result<Message, AgentError> {
    let format = Format {
        markers: Some(config.markers.clone()),
        anchoring: config.anchoring,
        limits: config.limits.clone(),
        ..Format::default()
    };
    let registry = Arc::clone(registry);
    let mut reader = Reader::new(format, Vec::new(), registry).map_err(PlanError::from)?;
    let mut deltas = Vec::new();
    reader.push(Delta::text(text), &mut deltas);
    Ok(reader.finish(&mut deltas).message)
}
