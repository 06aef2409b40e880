//! What each call has cost, by what its gadget said and by what the events say.

use std::collections::{BTreeMap, BTreeSet};

use gadgetry_proto::call::amount;
use gadgetry_proto::event::EventKind;
use gadgetry_proto::id::CallId;

#[derive(Default)]
pub(super) struct CallCosts {
    /// What the executions in progress have reported.
    reported: BTreeMap<CallId, f64>,
    /// What is due for each call: outcomes, and what interrupted executions had reported.
    due: BTreeMap<CallId, f64>,
    /// What the events say.
    said: BTreeMap<CallId, f64>,
}

impl CallCosts {
    pub(super) fn report(&mut self, id: CallId, dollars: f64) {
        *self.reported.entry(id).or_default() += amount(dollars);
    }

    /// The outcome includes the reports.
    pub(super) fn done(&mut self, id: CallId, dollars: f64) {
        self.reported.remove(&id);
        *self.due.entry(id).or_default() += amount(dollars);
    }

    pub(super) fn interrupt(&mut self) {
        for (id, dollars) in std::mem::take(&mut self.reported) {
            *self.due.entry(id).or_default() += dollars;
        }
    }

    pub(super) fn event(&mut self, kind: &EventKind) {
        if let EventKind::GadgetResult { call, cost, .. }
        | EventKind::GadgetCost { call, cost, .. } = kind
        {
            *self.said.entry(*call).or_default() += amount(*cost);
        }
    }

    pub(super) fn end(&self) {
        let ids: BTreeSet<&CallId> = self.due.keys().chain(self.said.keys()).collect();
        for id in ids {
            let of = |costs: &BTreeMap<CallId, f64>| costs.get(id).copied().unwrap_or_default();
            let (due, said) = (of(&self.due), of(&self.said));
            let close = (due - said).abs() <= 1e-9 * due.max(1e-9);
            assert!(close, "{id} has cost {due}, but its events say {said}");
        }
    }
}
