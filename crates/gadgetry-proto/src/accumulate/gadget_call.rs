//! Gadget calls: header, arguments, complete call.

use std::sync::Arc;

use crate::accumulate::Accumulator;
use crate::accumulate::sink::Sink;
use crate::accumulate::stream_event::StreamEvent;
use crate::call::Call;
use crate::message::Content;
use crate::piece::{ArgsPartial, CallStart};

impl Accumulator {
    pub(super) fn start_gadget_call(&mut self, start: &CallStart, out: &mut Sink<'_>) {
        if self.gadget_calls.contains_key(&start.invocation_id) {
            return;
        }
        let block_index = self.begin(out);
        let id = start.invocation_id.clone();
        self.gadget_calls.insert(id, block_index);
        out.push(|| StreamEvent::GadgetCallStart {
            block_index,
            start: start.clone(),
        });
    }

    pub(super) fn write_gadget_call(&self, args: &ArgsPartial, out: &mut Sink<'_>) {
        if let Some(&block_index) = self.gadget_calls.get(&args.invocation_id) {
            out.push(|| StreamEvent::GadgetArgsPartial {
                block_index,
                args: args.clone(),
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
