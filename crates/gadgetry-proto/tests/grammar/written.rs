//! What is written of a valid call, in the canonical form, follows the grammar.
//!
//! Canonical are the parameters in the order of the schema, in a block each at one pointer: a string as it is, everything else as
//! JSON.

use std::fmt::Write as _;

use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::message::ToolChoice;
use gadgetry_proto::prompt::json_call;
use serde_json::Value;

use super::classes::classes;
use super::shared::{Tools, random};
use crate::support::gbnf::Grammar;

/// Sentences of each class.
const SENTENCES: usize = 300;

/// A call in its canonical form: as the writer of JSON calls writes it, or a block with one argument for each parameter.
pub(super) fn written(form: CallForm, parameters: &Value) -> String {
    if form == CallForm::Json {
        return json_call("T", parameters);
    }
    let fields = parameters.as_object().expect("an object");
    let mut out = String::from("!!!GADGET_START:T\n");
    if fields
        .keys()
        .any(|name| name.is_empty() || name.contains(char::is_whitespace))
    {
        let _ = writeln!(out, "{parameters}");
    } else {
        for (name, value) in fields {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let name = name.replace('~', "~0").replace('/', "~1");
            let _ = writeln!(out, "!!!ARG:{name}\n{text}");
        }
    }
    out + "!!!GADGET_END"
}

/// Whether a number in it is written with an exponent, which numbers with bounds do not have.
fn has_exponent(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.to_string().contains('e'),
        Value::Array(items) => items.iter().any(has_exponent),
        Value::Object(fields) => fields.values().any(has_exponent),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

#[test]
fn written_calls_are_admitted() {
    let mut refused = Vec::new();
    for (class, schema) in classes() {
        let tools = Tools::one(&schema);
        let own = tools.grammar(CallForm::Block, &ToolChoice::Required, true);
        let all =
            CallForm::ALL.map(|form| (form, tools.grammar(form, &ToolChoice::Required, true)));
        let mut random = random(11);
        let before = refused.len();
        for _ in 0..SENTENCES {
            let read = tools.calls(CallForm::Block, &own.text(&mut random));
            let Some(Ok(parameters)) = read.into_iter().next() else {
                continue;
            };
            // A number of which digits would be lost is a text, which the bound of an untyped value does not admit.
            let is_text = class == "untyped" && parameters["least"].is_string();
            if is_text || class == "number ranges" && has_exponent(&parameters) {
                continue;
            }
            for (form, grammar) in &all {
                let text = written(*form, &parameters);
                // A bounded string of the JSON form has no `<`.
                let is_bounded = matches!(class, "string lengths" | "patterns" | "allOf");
                if *form == CallForm::Json && is_bounded && text[12..text.len() - 12].contains('<')
                {
                    continue;
                }
                if !Grammar::admits(grammar, &text) && refused.len() < before + 3 {
                    refused.push(format!("{class}, {form}: {text}"));
                }
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
