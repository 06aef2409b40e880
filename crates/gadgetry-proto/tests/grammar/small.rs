//! Grammars within the limits of small models: strings and arrays end, and their sentences are valid as well.

use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::grammar::{GrammarLimits, GrammarSpec, GrammarTool};
use gadgetry_proto::message::ToolChoice;
use serde_json::{Value, json};

use super::classes::{self, classes};
use super::shared::{Tools, with_deep_stack};

/// Sentences of each class and form.
const SENTENCES: u64 = 300;

#[test]
fn their_sentences_are_valid_calls() {
    with_deep_stack(check_sentences);
}

fn check_sentences() {
    for (class, schema) in classes() {
        for form in CallForm::ALL {
            classes::check(class, &schema, form, GrammarLimits::small(), SENTENCES);
        }
    }
}

/// Whether the grammar of one tool with this schema admits these arguments.
fn check(form: CallForm, long: &[&str], schema: &Value, arguments: &Value, expected: bool) {
    let tool = GrammarTool {
        name: "T",
        schema,
        multiline: long,
    };
    let tools = Tools::one(schema);
    let spec = GrammarSpec {
        tools: &[tool],
        form,
        markers: &tools.markers,
        choice: &ToolChoice::Required,
        is_single: true,
        limits: GrammarLimits::small(),
    };
    let grammar = crate::support::gbnf::Grammar::new(&spec.gbnf().expect("a grammar"));
    let text = if form == CallForm::Json {
        format!("<tool_call>\n{{\"name\":\"T\",\"arguments\":{arguments}}}\n</tool_call>")
    } else {
        let fields = arguments.as_object().expect("an object").iter();
        let lines = fields.map(|(name, value)| {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            format!("!!!ARG:{name}\n{text}\n")
        });
        let lines: String = lines.collect();
        format!("!!!GADGET_START:T\n{lines}!!!GADGET_END")
    };
    assert_eq!(grammar.admits(&text), expected, "{form}: {text}");
}

#[test]
fn strings_and_arrays_end() {
    with_deep_stack(check_ends);
}

fn check_ends() {
    let text =
        json!({ "properties": { "s": { "type": "string" } }, "required": ["s"], "type": "object" });
    let list = json!({
        "properties": { "l": { "type": "array", "items": { "type": "integer" } } },
        "required": ["l"],
        "type": "object",
    });
    let short = json!({ "s": "a".repeat(200) });
    let long = json!({ "s": "a".repeat(201) });
    let numbers = |count: usize| json!({ "l": vec![1; count] });
    for form in CallForm::ALL {
        check(form, &[], &text, &short, true);
        check(form, &[], &text, &long, false);
        // A file or a program has any length.
        check(form, &["s"], &text, &long, true);
        check(form, &[], &list, &numbers(12), true);
        check(form, &[], &list, &numbers(13), false);
    }
}
