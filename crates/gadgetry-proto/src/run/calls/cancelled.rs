//! Gadgets whose calls were answered before they returned.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::run::calls::record::Names;
use crate::run::calls::running::add;
use crate::run::io::Report;

/// The answer to a call of a cancelled run.
pub(super) const CANCELLED: &str = "Error: The run was cancelled before the call was done";

/// Answered calls whose gadgets were cancelled and have not returned. Their costs still count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CancelledGadgets(BTreeMap<CallId, Cancelled>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Cancelled {
    names: Names,
    /// The cost that it has reported.
    reported: f64,
}

impl CancelledGadgets {
    pub(super) fn insert(&mut self, id: CallId, names: Names, reported: f64) {
        self.0.insert(id, Cancelled { names, reported });
    }

    /// The gadget has returned.
    pub(super) fn remove(&mut self, id: CallId) -> Option<Names> {
        self.0.remove(&id).map(|cancelled| cancelled.names)
    }

    pub(super) fn names(&self, id: CallId) -> Option<&Names> {
        self.0.get(&id).map(|cancelled| &cancelled.names)
    }

    pub(super) fn reported(&self, id: CallId) -> Option<f64> {
        self.0.get(&id).map(|cancelled| cancelled.reported)
    }

    /// Notes what a gadget reports, if it is one of these.
    pub(super) fn note(&mut self, id: CallId, report: &Report) {
        if let Some(cancelled) = self.0.get_mut(&id)
            && let Report::Cost(dollars) | Report::SubagentCost { dollars, .. } = report
        {
            add(&mut cancelled.reported, *dollars);
        }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = CallId> + '_ {
        self.0.keys().copied()
    }

    pub(super) fn contains(&self, id: CallId) -> bool {
        self.0.contains_key(&id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
