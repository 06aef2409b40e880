//! The identity of a run of an agent.

use std::sync::Arc;

use gadgetry_proto::event::RunInfo;

use crate::agent::inner::Inner;
use crate::ask::random_id;
use crate::services::Services;

/// Returns the identity of a run that is driven with `services`. A top-level run without an id gets a random one.
pub(super) fn identity(inner: &Inner, services: &mut Services) -> Arc<RunInfo> {
    let id = &mut services.scope.run_id;
    id.get_or_insert_with(|| random_id().into());
    let mut info = services.scope.info(inner.model.name());
    info.agent.clone_from(&inner.name);
    Arc::new(info)
}
