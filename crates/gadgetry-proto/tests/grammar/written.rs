//! What is written of a valid call, in the canonical form, follows the grammar.
//!
//! Canonical are the parameters in the order of the schema, each at one pointer: a string as it is, everything else as JSON.

use std::fmt::Write as _;

use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::message::ToolChoice;
use serde_json::{Map, Value};

use super::classes::classes;
use super::shared::{Tools, random};
use crate::support::gbnf::Grammar;

/// Sentences of each class.
const SENTENCES: usize = 300;

fn written(form: CallForm, parameters: &Map<String, Value>) -> String {
    if form == CallForm::Json {
        let arguments = Value::Object(parameters.clone());
        return format!(
            "<tool_call>\n{{\"name\": \"T\", \"arguments\": {arguments}}}\n</tool_call>"
        );
    }
    let mut out = String::from("!!!GADGET_START:T\n");
    if parameters
        .keys()
        .any(|name| name.is_empty() || name.contains(char::is_whitespace))
    {
        let _ = writeln!(out, "{}", Value::Object(parameters.clone()));
    } else {
        for (name, value) in parameters {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let _ = writeln!(
                out,
                "!!!ARG:{}\n{text}",
                name.replace('~', "~0").replace('/', "~1")
            );
        }
    }
    out + "!!!GADGET_END"
}

/// Whether a number in it is written with an exponent, which no grammar admits.
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
        // Decimals have fewer digits there, or are text because they have more than a number keeps.
        if matches!(class, "number ranges" | "oneOf" | "untyped") {
            continue;
        }
        let tools = Tools::one(&schema);
        let own = tools.grammar(CallForm::Block, &ToolChoice::Required, true);
        let all =
            CallForm::ALL.map(|form| (form, tools.grammar(form, &ToolChoice::Required, true)));
        let mut random = random(11);
        for _ in 0..SENTENCES {
            let read = tools.calls(CallForm::Block, &own.text(&mut random));
            let Some(Ok(Value::Object(parameters))) = read.into_iter().next() else {
                continue;
            };
            if parameters.values().any(has_exponent) {
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
                if !Grammar::admits(grammar, &text) && refused.len() < 8 {
                    refused.push(format!("{class}, {form}: {text}"));
                }
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
