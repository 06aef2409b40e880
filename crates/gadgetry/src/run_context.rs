//! The run, as its hooks, its gadgets and its user see it.

use std::fmt;
use std::sync::Arc;

use gadgetry_proto::event::RunInfo;
use gadgetry_proto::id::CallId;
use gadgetry_proto::run::Report;
use tokio::sync::mpsc::UnboundedSender;

use crate::scope::Shared;

/// The run that a decision is about: its identity, and the way to report to it. Clones are the same run.
///
/// ```
/// use gadgetry::RunContext;
/// use gadgetry::proto::event::RunInfo;
/// let run = RunContext::new(RunInfo::new("order-7", "haiku"));
/// assert_eq!(&*run.info().id, "order-7");
/// ```
#[derive(Clone)]
pub struct RunContext {
    info: Arc<RunInfo>,
    reports: Option<UnboundedSender<(CallId, Report)>>,
    /// What it shares with its parent and its subagents.
    shared: Shared,
}

impl RunContext {
    /// Creates the context of a run that no driver drives, as in a test. Reports go nowhere.
    pub fn new(info: impl Into<Arc<RunInfo>>) -> Self {
        Self {
            info: info.into(),
            reports: None,
            shared: Shared::default(),
        }
    }

    /// The same, with reports for the driver of the run.
    pub(crate) fn reporting(mut self, reports: UnboundedSender<(CallId, Report)>) -> Self {
        self.reports = Some(reports);
        self
    }

    /// The same, with what its parent and its subagents share.
    pub(crate) fn sharing(mut self, shared: Shared) -> Self {
        self.shared = shared;
        self
    }

    /// Returns what the run shares with its parent and its subagents.
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Returns the identity of the run.
    pub fn info(&self) -> &Arc<RunInfo> {
        &self.info
    }

    /// Reports something about a call of the run, which gets it as an input. A report about a call that is not running has no effect.
    pub fn report(&self, call: CallId, report: Report) {
        if let Some(reports) = &self.reports {
            // It fails when the run is over. Then no one needs the report.
            let _ = reports.send((call, report));
        }
    }
}

impl fmt::Debug for RunContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunContext")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}
