//! The beginning of a call that must be made, sent to the upstream as the beginning of its own reply.
//!
//! ```text
//! the request ends with       assistant: !!!GADGET_START:weather
//! the upstream writes         :w1\n!!!ARG:city\n…                        most continue,
//! or                          !!!GADGET_START:weather:w1\n!!!ARG:city\n… some repeat what they continue
//! ```

use gadgetry_proto::delta::Delta;

/// A reply whose beginning the request has.
#[derive(Debug)]
pub(super) struct Prefill {
    head: String,
    /// The text of the upstream, until it is known whether it repeats the head.
    text: String,
}

impl Prefill {
    pub(super) fn new(head: String) -> Self {
        let text = String::new();
        Self { head, text }
    }

    /// Takes a delta, and returns it with the beginning of the reply before it; `None` while the text may repeat that.
    pub(super) fn continued(prefill: &mut Option<Self>, delta: Delta) -> Option<Delta> {
        let (Some(open), Delta::Text { delta: text, .. }) = (prefill.as_mut(), &delta) else {
            return Some(delta);
        };
        open.text.push_str(text);
        let written = open.text.trim_start();
        if written.len() < open.head.len() && open.head.starts_with(written) {
            return None;
        }
        let is_repeated = written.starts_with(&open.head);
        let Self { mut head, text } = prefill.take()?;
        if is_repeated {
            return Some(Delta::text(text));
        }
        head.push_str(&text);
        Some(Delta::text(head))
    }

    /// Returns the text that was kept of a reply that ends so early. It is not a call.
    pub(super) fn end(prefill: &mut Option<Self>) -> Option<Delta> {
        let text = prefill.take()?.text;
        (!text.is_empty()).then(|| Delta::text(text))
    }
}
