//! Gadget calls: header, arguments, complete call.

use std::sync::Arc;

use crate::accumulate::Accumulator;
use crate::call::Call;
use crate::message::Content;
use crate::piece::CallStart;

impl Accumulator {
    pub(super) fn start_gadget_call(&mut self, start: &CallStart) {
        if self.gadget_calls.contains_key(&start.invocation_id) {
            return;
        }
        let block_index = self.begin();
        let id = start.invocation_id.clone();
        self.gadget_calls.insert(id, block_index);
    }

    pub(super) fn complete_gadget_call(&mut self, call: &Arc<Call>) {
        let block_index = match self.gadget_calls.remove(&call.invocation_id) {
            Some(block_index) => block_index,
            None => self.begin(),
        };
        self.fill(block_index, Content::GadgetCall(Arc::clone(call)), None);
    }
}
