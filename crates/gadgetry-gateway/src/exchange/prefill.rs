//! The beginning of a call that must be made, sent to the upstream as the beginning of its own reply.
//!
//! ```text
//! the request ends with       assistant: !!!GADGET_START:weather
//! the upstream writes         :w1\n!!!ARG:city\n…                        most continue,
//! or                          !!!GADGET_START:weather:w1\n!!!ARG:city\n… some repeat what they continue
//! ```

use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::ToolChoice;
use serde_json::Value;

use super::setup::Setup;

/// A reply whose beginning is in the request.
#[derive(Debug)]
pub(super) struct Prefill {
    head: String,
    /// The beginning of the head, which only a reply that repeats the head has.
    opener: String,
    /// The text of the upstream, until it is known whether it repeats the head.
    text: String,
}

impl Prefill {
    /// Begins the call that a reply must have, if the rules demand that. It cannot be combined with a grammar, which begins with
    /// the whole block.
    pub(super) fn of(setup: &Setup) -> Option<Self> {
        let rules = &setup.rules;
        let is_demanded = setup.reads_blocks() && setup.is_forced();
        if !is_demanded || !rules.template.prefill || rules.constraint().is_known() {
            return None;
        }
        let name = if let ToolChoice::Gadget(name) = &setup.client().choice.kind {
            setup.tools().block_name(name).unwrap_or(name)
        } else {
            ""
        };
        let (opener, rest) = if rules.call_form() == CallForm::Json {
            let name = Value::from(name).to_string();
            let rest = format!("\n{{\"name\":{}", &name[..name.len() - 1]);
            ("<tool_call>".to_owned(), rest)
        } else {
            (setup.secrets().markers.start().to_owned(), name.to_owned())
        };
        Some(Self {
            head: format!("{opener}{rest}"),
            opener,
            text: String::new(),
        })
    }

    /// Returns the text that the request ends with.
    pub(super) fn head(&self) -> &str {
        &self.head
    }

    /// Takes a delta, and returns it with the beginning of the reply before it; `None` while the text may repeat that.
    pub(super) fn continued(prefill: &mut Option<Self>, delta: Delta) -> Option<Delta> {
        let (Some(open), Delta::Text { delta: text, .. }) = (prefill.as_mut(), &delta) else {
            return Some(delta);
        };
        open.text.push_str(text);
        let written = open.text.trim_start();
        if written.len() < open.opener.len() && open.opener.starts_with(written) {
            return None;
        }
        let is_repeated = written.starts_with(&open.opener);
        let Self { mut head, text, .. } = prefill.take()?;
        if is_repeated {
            return Some(Delta::text(text));
        }
        head.push_str(&text);
        Some(Delta::text(head))
    }

    /// Returns the withheld text of a reply that ends before that is known. It is not a call.
    pub(super) fn end(prefill: &mut Option<Self>) -> Option<Delta> {
        let text = prefill.take()?.text;
        (!text.is_empty()).then(|| Delta::text(text))
    }
}
