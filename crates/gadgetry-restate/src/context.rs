//! The parts of a worker that all its runs share.

use std::time::Duration;

use futures_core::future::BoxFuture;

use crate::driver::{DriveJob, DriveResult};
use crate::events::EventHubs;
use crate::ingress::Ingress;
use crate::protocol::WorkerAddress;

/// The parts of a worker that all its runs share.
pub(crate) struct WorkerContext {
    pub(crate) ingress: Ingress,
    pub(crate) hubs: EventHubs,
    pub(crate) drive: Drive,
    /// Time for which a run that waits for an answer keeps its memory here.
    pub(crate) suspend_after: Duration,
    /// The address for followers and messages.
    pub(crate) address: WorkerAddress,
}

/// Drives a run to its end.
pub(crate) type Drive = Box<dyn Fn(DriveJob) -> BoxFuture<'static, DriveResult> + Send + Sync>;
