//! The gate that takes calls in forms other than blocks out of the text of a reply, and leaves quotations of data in it.

use std::sync::Arc;

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::dialect::{Dialects, Gate, GateRules, Gated, Quotations, looks_like_call};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::schema::Registry;
use serde_json::Value;

use super::request::ClientRequest;
use super::setup::Setup;

/// A [`Gate`] whose pieces are decided: a call that it returns is a call of the model, and no [quotation](Quotations).
#[derive(Debug)]
pub(super) struct CallGate {
    gate: Gate,
    /// The forms that are calls.
    dialects: Dialects,
    /// The tools that can be called.
    registry: Arc<Registry>,
    /// The request, whose data the model may only repeat.
    request: Arc<ClientRequest>,
    quotations: Quotations,
    /// The text of the reply, as long as there are tools.
    written: String,
}

impl CallGate {
    pub(super) fn of(setup: &Setup, registry: Arc<Registry>) -> Self {
        let dialects = if setup.reads_blocks() {
            setup.rules.dialects_read()
        } else {
            Dialects::default()
        };
        // Without tools there is no call that could be one.
        let quotations = if registry.is_empty() {
            Quotations::default()
        } else {
            Quotations::with_data(passed_on(&setup.request.client)).with_names(names(setup))
        };
        Self {
            gate: Gate::default(),
            dialects,
            registry,
            request: Arc::clone(&setup.request.client),
            quotations,
            written: String::new(),
        }
    }

    /// Takes text, and appends the pieces of it that are decided.
    pub(super) fn push(&mut self, text: &str, pieces: &mut Vec<Gated>) {
        if !self.registry.is_empty() {
            self.written.push_str(text);
        }
        self.with_rules(pieces, |gate, rules, pieces| gate.push(text, rules, pieces));
    }

    /// Appends the pieces that were undecided, because something other than text follows.
    pub(super) fn flush(&mut self, pieces: &mut Vec<Gated>) {
        self.with_rules(pieces, Gate::flush);
    }

    /// Appends the pieces that the end of a reply which was cut off has decided.
    pub(super) fn cut_off(&mut self, pieces: &mut Vec<Gated>) {
        self.with_rules(pieces, Gate::cut_off);
    }

    /// Returns `true` if the text of the reply has the form of a call: one that was not executed, if no call was.
    pub(super) fn has_form(&self) -> bool {
        looks_like_call(&self.written, &self.registry, &Limits::default())
    }

    /// Begins the next reply.
    pub(super) fn end_reply(&mut self) {
        self.written.clear();
        self.gate = Gate::default();
        self.quotations.end_reply();
    }

    fn with_rules(
        &mut self,
        pieces: &mut Vec<Gated>,
        act: impl FnOnce(&mut Gate, &GateRules<'_>, &mut Vec<Gated>),
    ) {
        let rules = GateRules {
            dialects: &self.dialects,
            registry: &self.registry,
            limits: &Limits::default(),
            anchoring: Anchoring::Anywhere,
        };
        act(&mut self.gate, &rules, pieces);
        self.quotations
            .decide(pieces, &self.dialects, &self.request.messages);
    }
}

/// Returns the names of tools that have others in blocks, after these.
fn names(setup: &Setup) -> impl Iterator<Item = (String, String)> {
    let renamed = setup
        .tools()
        .iter()
        .filter(|(block_name, tool)| *block_name != tool.name);
    renamed.map(|(block_name, tool)| (block_name.to_owned(), tool.name.clone()))
}

/// Returns the texts in fields that are passed on, as `documents`: a template of the upstream may put them into the prompt.
fn passed_on(request: &ClientRequest) -> Vec<String> {
    let mut texts = Vec::new();
    let mut open: Vec<&Value> = request.options.fields.values().rev().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => texts.push(text.clone()),
            Value::Array(items) => open.extend(items.iter().rev()),
            Value::Object(fields) => {
                texts.extend(fields.keys().cloned());
                open.extend(fields.values().rev());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    texts
}
