//! The beginning of a call that must be made, sent to the upstream as the beginning of its own reply.
//!
//! ```text
//! the request ends with       assistant: !!!GADGET_START:weather
//! the upstream writes         :w1\n!!!ARG:city\n…                        most continue,
//! or                          !!!GADGET_START:weather:w1\n!!!ARG:city\n… some repeat what they continue
//! ```

use gadgetry::proto::call_form::CallForm;
use gadgetry::proto::delta::Delta;
use gadgetry::proto::message::{Message, Role, ToolChoice};

use super::Exchange;

/// A reply whose beginning the request has.
#[derive(Debug)]
pub(super) struct Prefill {
    head: String,
    /// What the upstream has written, until it is known whether it repeats the head.
    text: String,
}

impl Exchange {
    /// Ends the first request with the beginning of a call, if the rules want that. A grammar begins with the whole block then, so
    /// both do not go together.
    pub(super) fn begin_call(&mut self) {
        let rules = &self.setup.rules;
        let is_demanded = self.reads_blocks() && self.setup.request.choice.kind.is_forced();
        let has_blocks = rules.call_form() == CallForm::Block;
        if !is_demanded || !rules.prefill || !has_blocks || rules.constraint().is_known() {
            return;
        }
        let mut head = self.setup.secrets.markers.start().to_owned();
        if let ToolChoice::Gadget(name) = &self.setup.request.choice.kind {
            head.push_str(self.setup.tools.block_name(name).unwrap_or(name));
        }
        self.trailing
            .push(Message::text(Role::Assistant, head.clone()));
        self.prefill = Some(Prefill {
            head,
            text: String::new(),
        });
    }

    /// The delta with the beginning of the reply before it; `None` while the text may repeat that.
    pub(super) fn continued(&mut self, delta: Delta) -> Option<Delta> {
        let (Some(prefill), Delta::Text { delta: text, .. }) = (&mut self.prefill, &delta) else {
            return Some(delta);
        };
        prefill.text.push_str(text);
        let written = prefill.text.trim_start();
        if written.len() < prefill.head.len() && prefill.head.starts_with(written) {
            return None;
        }
        let is_repeated = written.starts_with(&prefill.head);
        let Prefill { mut head, text } = self.prefill.take()?;
        if is_repeated {
            return Some(Delta::text(text));
        }
        head.push_str(&text);
        Some(Delta::text(head))
    }

    /// What was kept of a reply that ends so early. It is not a call.
    pub(super) fn end_prefill(&mut self) -> Option<Delta> {
        let text = self.prefill.take()?.text;
        (!text.is_empty()).then(|| Delta::text(text))
    }
}
