//! The identity of a run of an agent.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use gadgetry_proto::event::RunInfo;

use crate::agent::inner::Inner;
use crate::ask::random_id;
use crate::services::Services;

/// Returns the identity of a run that is driven with `services`. A top-level run without an id gets a random one.
pub(super) fn identity(inner: &Inner, services: &mut Services) -> Arc<RunInfo> {
    let id = &mut services.scope.run_id;
    id.get_or_insert_with(|| random_id().into());
    let model = if inner.is_single_call {
        ""
    } else {
        inner.model.name()
    };
    let mut info = services.scope.info(model);
    info.single_call = inner.is_single_call;
    info.start_ms = unix_ms(SystemTime::now());
    info.agent.clone_from(&inner.name);
    Arc::new(info)
}

/// The milliseconds from 1970 to a time; `None` for one before that.
pub(super) fn unix_ms(time: SystemTime) -> Option<u64> {
    let since = time.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}
