//! When the time of running gadgets is over.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::time::Time;

/// The deadlines of running gadgets, the first one first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Deadlines(BTreeSet<(Time, CallId)>);

impl Deadlines {
    /// The deadline of a gadget that starts now, if it has a timeout.
    pub(super) fn begin(&mut self, id: CallId, now: Time, timeout_ms: Option<u64>) -> Option<Time> {
        let deadline = now + Duration::from_millis(timeout_ms?);
        self.0.insert((deadline, id));
        Some(deadline)
    }

    /// A gadget has ended before its deadline.
    pub(super) fn end(&mut self, id: CallId, deadline: Option<Time>) {
        if let Some(deadline) = deadline {
            self.0.remove(&(deadline, id));
        }
    }

    pub(super) fn first(&self) -> Option<Time> {
        self.0.first().map(|(deadline, _)| *deadline)
    }

    /// Takes the first deadline that is over.
    pub(super) fn take_due(&mut self, now: Time) -> Option<(Time, CallId)> {
        let first = self.0.first().filter(|(deadline, _)| *deadline <= now)?;
        let first = *first;
        self.0.remove(&first);
        Some(first)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
