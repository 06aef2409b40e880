//! The output items of a reply.

use std::collections::HashSet;
use std::sync::Arc;

use gadgetry_proto::delta::Delta;
use serde_json::Value;

use super::item::{Item, Kind};
use crate::tools::ToolNames;

/// The items of one reply, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Items {
    pub(super) all: Vec<Item>,
    /// The ids of all calls.
    ids: HashSet<String>,
    names: Arc<ToolNames>,
}

impl Items {
    pub(super) fn with_names(names: Arc<ToolNames>) -> Self {
        Self {
            names,
            ..Self::default()
        }
    }

    /// The item of a frame, which begins if it is unknown. `id` is the item's.
    pub(super) fn at(&mut self, body: &Value, id: Option<&str>) -> usize {
        let index = body["output_index"].as_u64();
        // The index counts before the id, because some servers change the id between the frames of an item.
        let found = match (index, id) {
            (Some(_), _) => self.all.iter().rposition(|item| item.index == index),
            (None, Some(id)) => {
                let is_it = |item: &Item| item.id.as_deref() == Some(id);
                self.all.iter().rposition(is_it)
            }
            (None, None) => self.all.len().checked_sub(1),
        };
        found.unwrap_or_else(|| self.begin(index, id))
    }

    /// An item begins. One that has the index of another item is a new one if its id differs, or if that item has ended.
    pub(super) fn added(&mut self, body: &Value, out: &mut Vec<Delta>) {
        let item = &body["item"];
        let id = item["id"].as_str();
        let mut at = self.at(body, id);
        let known = &self.all[at];
        if known.kind.is_some() && (known.id.as_deref() != id || known.is_over) {
            at = self.begin(body["output_index"].as_u64(), id);
        }
        self.describe(at, item, out);
    }

    /// Takes what an item says about itself, as it begins or ends.
    pub(super) fn describe(&mut self, at: usize, sent: &Value, out: &mut Vec<Delta>) {
        let item = &mut self.all[at];
        item.describe(sent);
        if item.id.is_none() {
            item.id = sent["id"].as_str().map(str::to_owned);
        }
        if let Some(Kind::Call(call)) = &mut item.kind {
            call.describe(sent, at + 1, &self.names, &mut self.ids, out);
        }
    }

    /// The known item that an item of the finished response repeats, or a new one; `None` if all of it has arrived.
    pub(super) fn in_repetition(&mut self, item: &Value, number: u64) -> Option<usize> {
        // `response.completed` repeats the whole output. Servers that streamed it leave nothing to emit; a server that
        // streamed only text may repeat `[message, function_call]`, of which the call is new.
        let id = item["id"].as_str();
        let is_it = |known: &Item| {
            known.index == Some(number) || (id.is_some() && known.id.as_deref() == id)
        };
        if let Some(known) = self.all.iter().rposition(is_it) {
            return Some(known);
        }
        // Servers without indexes whose ids change repeat calls by their `call_id`, and messages by nothing.
        let is_call = item["call_id"]
            .as_str()
            .is_some_and(|id| self.ids.contains(id));
        let is_message = |known: &Item| matches!(known.kind, Some(Kind::Message));
        let is_text = item["type"] == "message"
            && self.all.iter().any(is_message)
            && self.all.iter().all(|known| known.index.is_none());
        (!is_call && !is_text).then(|| self.begin(Some(number), id))
    }

    fn begin(&mut self, index: Option<u64>, id: Option<&str>) -> usize {
        self.all.push(Item::new(index, id.map(str::to_owned)));
        self.all.len() - 1
    }
}
