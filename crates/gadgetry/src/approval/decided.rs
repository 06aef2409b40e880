//! Decisions about calls that have not started.

use std::collections::VecDeque;
use std::sync::Arc;

use gadgetry_proto::run::Start;
use tokio_util::sync::CancellationToken;

use crate::gadget::Approved;

/// Maximum number of decisions that are kept.
const KEPT: usize = 256;

/// Decisions about calls that have not started.
#[derive(Default)]
pub(super) struct Decided(VecDeque<Record>);

pub(super) struct Record {
    start: Start,
    pub(super) approved: Arc<Approved>,
    pub(super) end: CancellationToken,
}

impl Decided {
    /// Keeps the decision that a call runs; returns the token that is cancelled when the call has ended.
    pub(super) fn push(&mut self, start: &Start, approved: Approved) -> CancellationToken {
        let end = CancellationToken::new();
        self.0.push_back(Record {
            start: start.clone(),
            approved: Arc::new(approved),
            end: end.clone(),
        });
        while self.0.len() > KEPT
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.end.cancel();
        }
        end
    }

    /// Takes the decision about exactly this call.
    pub(super) fn take(&mut self, start: &Start) -> Option<Record> {
        let is_same = |record: &Record| {
            let kept = &record.start;
            kept.id == start.id
                && kept.gadget_name == start.gadget_name
                && kept.invocation_id == start.invocation_id
                && kept.parameters == start.parameters
        };
        self.0.remove(self.0.iter().rposition(is_same)?)
    }
}
