//! A gadget call: announced, streamed, complete.

use std::sync::Arc;

use crate::accumulate::Accumulator;
use crate::accumulate::sink::Sink;
use crate::accumulate::stream_event::StreamEvent;
use crate::call::Call;
use crate::delta::Delta;
use crate::id::InvocationId;
use crate::message::Content;

impl Accumulator {
    pub(super) fn start_gadget_call(
        &mut self,
        gadget_name: &str,
        invocation_id: &InvocationId,
        dependencies: &[InvocationId],
        out: &mut Sink<'_>,
    ) {
        if self.gadget_calls.contains_key(invocation_id) {
            return;
        }
        let block_index = self.begin(out);
        self.gadget_calls.insert(invocation_id.clone(), block_index);
        out.push(|| StreamEvent::GadgetCallStart {
            block_index,
            gadget_name: gadget_name.to_owned(),
            invocation_id: invocation_id.clone(),
            dependencies: dependencies.to_owned(),
        });
    }

    pub(super) fn write_gadget_call(&self, delta: &Delta, out: &mut Sink<'_>) {
        if let Delta::GadgetArgsPartial {
            invocation_id,
            gadget_name,
            field_path,
            delta,
            is_field_complete,
        } = delta
            && let Some(&block_index) = self.gadget_calls.get(invocation_id)
        {
            out.push(|| StreamEvent::GadgetArgsPartial {
                block_index,
                invocation_id: invocation_id.clone(),
                gadget_name: gadget_name.clone(),
                field_path: field_path.clone(),
                delta: delta.clone(),
                is_field_complete: *is_field_complete,
            });
        }
    }

    pub(super) fn complete_gadget_call(&mut self, call: &Arc<Call>, out: &mut Sink<'_>) {
        let block_index = match self.gadget_calls.remove(&call.invocation_id) {
            Some(block_index) => block_index,
            None => self.begin(out),
        };
        out.push(|| StreamEvent::GadgetCall {
            block_index,
            call: Arc::clone(call),
        });
        self.fill(block_index, Content::GadgetCall(Arc::clone(call)), None);
    }
}
