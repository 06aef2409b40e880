//! Every sentence of a grammar is read as calls that pass the check, class by class of schemas.

use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::grammar::GrammarLimits;
use gadgetry_proto::message::ToolChoice;
use serde_json::{Value, json};

use super::shared::{Tools, random};

/// Sentences of each class and form.
const SENTENCES: u64 = 10_000;

#[expect(clippy::needless_pass_by_value, reason = "the classes read better")]
fn object(properties: Value) -> Value {
    let names: Vec<&String> = properties.as_object().expect("an object").keys().collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

/// The classes of schemas.
pub(super) fn classes() -> Vec<(&'static str, Value)> {
    let tree = json!({
        "type": "object",
        "properties": { "root": { "$ref": "#/$defs/node" } },
        "required": ["root"],
        "$defs": { "node": {
            "type": "object",
            "properties": {
                "value": { "type": "integer" },
                "children": { "type": "array", "items": { "$ref": "#/$defs/node" }, "maxItems": 3 },
            },
            "required": ["value"],
            "additionalProperties": false,
        } },
    });
    vec![
        (
            "flat scalars",
            object(json!({
                "text": { "type": "string" }, "count": { "type": "integer" },
                "share": { "type": "number" }, "is_new": { "type": "boolean" },
            })),
        ),
        (
            "optional",
            json!({ "type": "object", "properties": {
            "a": { "type": "string" }, "b": { "type": "integer" }, "c": { "type": "boolean" }, "d": { "type": "number" },
        }, "required": ["b"] }),
        ),
        (
            "all optional",
            json!({ "type": "object", "properties": {
            "a": { "type": "string" }, "b": { "type": "integer" }, "c": { "type": "array", "items": { "type": "boolean" } },
        } }),
        ),
        (
            "enums",
            object(json!({
                "color": { "type": "string", "enum": ["red", "dark \"blue\"", "back\\slash", "é", "", " padded "] },
                "mixed": { "enum": ["3", 3, true, null, 1.5, { "a": [1] }, ["x"]] },
                "level": { "type": "integer", "enum": [1, 2, "no", 3] },
            })),
        ),
        (
            "const",
            object(json!({
                "kind": { "const": "circle" }, "number": { "const": 4 }, "nothing": { "const": null }, "list": { "const": [1, "a"] },
            })),
        ),
        (
            "nullable",
            object(json!({
                "a": { "type": ["string", "null"] }, "b": { "type": ["integer", "null"] }, "c": { "type": "number", "nullable": true },
                "d": { "enum": ["x", null] },
            })),
        ),
        (
            "arrays of scalars",
            object(json!({
                "numbers": { "type": "array", "items": { "type": "integer" } },
                "words": { "type": "array", "items": { "type": "string" } },
                "flags": { "type": "array", "items": { "type": "boolean" }, "minItems": 1, "maxItems": 3 },
                "decimals": { "type": "array", "items": { "type": "number" }, "minItems": 2 },
            })),
        ),
        (
            "arrays of objects",
            object(json!({
                "rows": { "type": "array", "items": object(json!({ "name": { "type": "string" }, "qty": { "type": "integer" } })) },
            })),
        ),
        (
            "nested objects",
            object(json!({
                "user": object(json!({
                    "name": { "type": "string" },
                    "address": object(json!({ "street": { "type": "string" }, "number": { "type": "integer" } })),
                })),
            })),
        ),
        (
            "optional in objects",
            object(json!({
                "filter": { "type": "object", "properties": {
                    "a": { "type": "string" }, "b": { "type": "number" }, "c": { "type": "boolean" }, "d": { "type": "null" }, "e": { "type": "integer" },
                }, "required": ["c"], "additionalProperties": false },
                "all": { "type": "object", "properties": {
                    "a": { "type": "string" }, "b": { "type": "number" }, "c": { "type": "boolean" }, "d": { "type": "integer" },
                } },
            })),
        ),
        ("recursive reference", tree),
        (
            "reference to the root",
            json!({
                "type": "object",
                "properties": { "name": { "type": "string" }, "parts": { "type": "array", "items": { "$ref": "#" } } },
                "required": ["name"],
            }),
        ),
        (
            "anyOf",
            object(json!({
                "a": { "anyOf": [{ "type": "integer" }, { "type": "boolean" }] },
                "b": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "integer" } }] },
                "c": { "anyOf": [object(json!({ "x": { "type": "integer" } })), { "type": "null" }] },
                "d": { "anyOf": [{ "type": "integer", "minimum": 10 }, { "type": "string" }] },
                "e": { "anyOf": [{ "type": "number" }, { "type": "string", "enum": ["auto", "1.50"] }] },
            })),
        ),
        (
            "oneOf",
            object(json!({
                "shape": { "oneOf": [
                    { "type": "object", "properties": { "kind": { "const": "circle" }, "r": { "type": "number" } }, "required": ["kind", "r"] },
                    { "type": "object", "properties": { "kind": { "const": "square" }, "side": { "type": "integer" } }, "required": ["kind", "side"] },
                ] },
            })),
        ),
        (
            "allOf",
            json!({ "type": "object", "allOf": [
            { "properties": { "a": { "type": "integer", "minimum": 2 } }, "required": ["a"] },
            { "properties": { "a": { "maximum": 7 }, "b": { "$ref": "#/$defs/b" } } },
        ], "$defs": { "b": { "allOf": [{ "type": "string", "minLength": 2 }, { "maxLength": 4 }] } } }),
        ),
        (
            "maps",
            object(json!({
                "scores": { "type": "object", "additionalProperties": { "type": "integer" }, "maxProperties": 1 },
                "some": { "type": "object", "additionalProperties": { "type": "string" }, "minProperties": 1, "maxProperties": 1 },
                "keyed": { "type": "object", "patternProperties": { "^k_[a-z]{4}$": { "type": "boolean" } }, "additionalProperties": false, "maxProperties": 1 },
            })),
        ),
        (
            "integer ranges",
            object(json!({
                "a": { "type": "integer", "minimum": 1, "maximum": 5 }, "b": { "type": "integer", "minimum": -12, "maximum": 345 },
                "c": { "type": "integer", "minimum": 0 }, "d": { "type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1000 },
                "e": { "type": "integer", "maximum": -3 }, "f": { "type": "integer", "multipleOf": 5 }, "g": { "type": "integer", "multipleOf": 100 },
                "h": { "type": "integer", "minimum": 1990, "maximum": 2031 }, "i": { "type": "integer", "minimum": 7, "maximum": 7 },
                "j": { "type": "integer", "minimum": 98, "maximum": 1203 },
            })),
        ),
        (
            "number ranges",
            object(json!({
                "a": { "type": "number", "minimum": 0, "maximum": 1 }, "b": { "type": "number", "exclusiveMinimum": 0 },
                "c": { "type": "number", "minimum": -90, "maximum": 90 }, "d": { "type": "number", "minimum": 0.2, "maximum": 0.8 },
                "e": { "type": "number", "maximum": -1.5 }, "f": { "type": "number", "exclusiveMinimum": -1, "exclusiveMaximum": 1 },
                "g": { "type": "number", "exclusiveMaximum": 0 }, "h": { "type": "number", "minimum": 2.5, "maximum": 17.25 },
            })),
        ),
        (
            "string lengths",
            object(json!({
                "a": { "type": "string", "minLength": 1 }, "b": { "type": "string", "maxLength": 3 },
                "c": { "type": "string", "minLength": 2, "maxLength": 2 }, "d": { "type": "string", "maxLength": 40 },
                "e": { "type": "array", "items": { "type": "string", "minLength": 1, "maxLength": 5 } },
                "f": { "type": "string", "maxLength": 0 },
            })),
        ),
        (
            "patterns",
            object(json!({
                "a": { "type": "string", "pattern": "^[A-Z]{3}-\\d{4}$" }, "b": { "type": "string", "pattern": "^(?:foo|bar)+$" },
                "c": { "type": "string", "pattern": "x" }, "d": { "type": "string", "pattern": "^[a-z]+$", "maxLength": 5 },
                "e": { "type": "string", "pattern": "^https?://.+" }, "f": { "type": "string", "pattern": "^[^\"a]\\\\?\"$" },
                "g": { "type": "string", "pattern": "^\\w[\\w.-]*\\$$" }, "h": { "type": "string", "pattern": "^a$|^b+$|c$" },
                "i": { "type": "array", "items": { "type": "string", "pattern": "^[^,]{1,3}$" } },
                "j": { "type": "string", "pattern": "^.*$" }, "k": { "type": "string", "pattern": "^[!-~]{2,4}$" },
            })),
        ),
        (
            "formats",
            object(json!({
                "date": { "type": "string", "format": "date" }, "time": { "type": "string", "format": "time" },
                "at": { "type": "string", "format": "date-time" }, "id": { "type": "string", "format": "uuid" },
                "mail": { "type": "string", "format": "email" }, "ip": { "type": "string", "format": "ipv4" },
                "ip6": { "type": "string", "format": "ipv6" }, "host": { "type": "string", "format": "hostname" },
                "url": { "type": "string", "format": "uri" }, "takes": { "type": "string", "format": "duration" },
                "list": { "type": "array", "items": { "type": "string", "format": "date" } },
                "odd": { "type": "string", "format": "of-no-standard" },
            })),
        ),
        (
            "tuples",
            object(json!({
                "point": { "type": "array", "prefixItems": [{ "type": "number" }, { "type": "number" }], "items": false, "minItems": 2 },
                "open": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "integer" }], "items": { "type": "boolean" } },
                "old": { "type": "array", "items": [{ "type": "integer" }, { "type": "boolean" }], "minItems": 1 },
                "capped": { "type": "array", "prefixItems": [{ "type": "string" }], "items": { "type": "integer" }, "maxItems": 2 },
            })),
        ),
        (
            "untyped",
            object(json!({
                "any": {}, "yes": true, "list": { "type": "array" }, "map": { "type": "object", "maxProperties": 1 }, "least": { "minimum": 3 },
            })),
        ),
        (
            "many lines",
            object(json!({
                "code": { "type": "string", "format": "code" }, "page": { "type": "string", "contentMediaType": "text/html" },
            })),
        ),
        (
            "names",
            object(json!({
                "größe": { "type": "integer" }, "a/b": { "type": "string" }, "m~n": { "type": "boolean" }, "🦀": { "type": "string" },
                "x.y-z": { "type": "integer" }, "0": { "type": "string" }, "q\"uote\\": { "type": "string" },
            })),
        ),
        (
            "names that no pointer has",
            object(json!({
                "two words": { "type": "integer" }, "line\nbreak": { "type": "string" }, "": { "type": "boolean" },
            })),
        ),
        (
            "no parameters",
            json!({ "type": "object", "properties": {} }),
        ),
        (
            "additional",
            json!({ "type": "object", "properties": { "a": { "type": "integer" }, "ab": { "type": "integer" } }, "required": ["a"],
            "additionalProperties": { "type": "boolean" }, "maxProperties": 2 }),
        ),
        (
            "alternatives at the root",
            json!({ "type": "object", "anyOf": [
            { "properties": { "a": { "type": "integer" } }, "required": ["a"], "additionalProperties": false },
            { "properties": { "b": { "type": "string" } }, "required": ["b"], "additionalProperties": false },
        ] }),
        ),
        (
            "required without a description",
            json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a", "b"] }),
        ),
        (
            "false",
            json!({ "type": "object", "properties": { "a": { "type": "integer" }, "never": false, "none": { "type": "string", "enum": [] } }, "required": ["a"] }),
        ),
    ]
}

/// Generates sentences of the grammar of one tool, and reads each.
pub(super) fn check(
    class: &str,
    schema: &Value,
    form: CallForm,
    limits: GrammarLimits,
    sentences: u64,
) {
    let mut tools = Tools::one(schema);
    tools.limits = limits;
    let text = tools.text(form, &ToolChoice::Required, true);
    let grammar = crate::support::gbnf::Grammar::new(&text);
    let mut random = random(1);
    let mut problems = Vec::new();
    for number in 0..sentences {
        let sentence = grammar.text(&mut random);
        if number < 50 {
            assert!(grammar.admits(&sentence), "{class}: {sentence}");
        }
        let calls = tools.calls(form, &sentence);
        let is_valid = matches!(&calls[..], [Ok(_)]);
        // No grammar can demand that the keys of a map differ.
        let is_repeated = format!("{calls:?}").contains("twice");
        if !is_valid && !is_repeated && problems.len() < 3 {
            problems.push(format!("{sentence}\n  {calls:?}"));
        }
    }
    assert!(
        problems.is_empty(),
        "{class} ({form}):\n{}\n{text}",
        problems.join("\n")
    );
}

macro_rules! forms {
    ($($name:ident $form:expr, $part:expr;)*) => {$(
        #[test]
        fn $name() {
            let mut failed = Vec::new();
            for (at, (class, schema)) in classes().iter().enumerate() {
                if at % 2 != $part {
                    continue;
                }
                let result = std::panic::catch_unwind(|| check(class, schema, $form, GrammarLimits::default(), SENTENCES));
                failed.extend(result.err().map(|_| *class));
            }
            assert!(failed.is_empty(), "{failed:?}");
        }
    )*};
}

forms! {
    blocks_of_even_classes CallForm::Block, 0;
    blocks_of_odd_classes CallForm::Block, 1;
    json_of_even_classes CallForm::Json, 0;
    json_of_odd_classes CallForm::Json, 1;
}
