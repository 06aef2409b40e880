//! The results that later calls may refer to.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::{CallId, InvocationId};

/// The result of the latest call of each id, if that call has one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct KnownResults(BTreeMap<InvocationId, Known>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    call: CallId,
    text: Arc<str>,
}

impl KnownResults {
    pub(super) fn get(&self, id: &InvocationId) -> Option<&Arc<str>> {
        self.0.get(id).map(|known| &known.text)
    }

    pub(super) fn contains(&self, id: &InvocationId) -> bool {
        self.0.contains_key(id)
    }

    pub(super) fn insert(&mut self, id: InvocationId, call: CallId, text: Arc<str>) {
        self.0.insert(id, Known { call, text });
    }

    /// Removes the result of an id if its call is as meant.
    pub(super) fn remove_if(&mut self, id: &InvocationId, is_meant: impl Fn(CallId) -> bool) {
        if self.0.get(id).is_some_and(|known| is_meant(known.call)) {
            self.0.remove(id);
        }
    }
}
