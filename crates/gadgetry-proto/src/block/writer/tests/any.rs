//! Random values that are hard to write, and schemas that admit them.

use proptest::prelude::*;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use crate::block::Markers;

/// Text that looks like something else.
fn text() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "!!!ARG:",
        "!!!GADGET_END",
        "!!!GADGET_START:X",
        "!!!",
        "<<<END:",
        "@p",
        "\\",
        "\n",
        "\r",
        "\r\n",
        " ",
        "\t",
        "```",
        "```json",
        "42",
        "-0",
        "0042",
        "1e5",
        ".5",
        "true",
        "null",
        "[1]",
        "{}",
        "\"",
        "\"q\"",
        "x",
        "ñ",
        "😀",
        "\u{0}",
        "\u{a0}",
        "\u{2028}",
        "/",
        "~",
        ":",
        "a",
    ]);
    prop_oneof![
        2 => prop::collection::vec(nasty, 0..4).prop_map(|parts| parts.concat()),
        1 => "[a-z]{0,6}",
        1 => any::<String>(),
    ]
}

pub(super) fn key() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z_]{1,4}", 1 => "-?[0-9]{1,2}", 1 => text()]
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-20..20_i64).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-20..20_i32).prop_map(|whole| Value::from(f64::from(whole))),
    ]
    .prop_filter("a number", Value::is_number)
}

pub(super) fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => text().prop_map(Value::from),
        2 => number(),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4).prop_map(object),
        ]
    })
}

pub(super) fn object(pairs: Vec<(String, Value)>) -> Value {
    Value::Object(pairs.into_iter().collect::<Map<_, _>>())
}

/// A schema, and a value that it admits.
pub(super) fn typed_value() -> impl Strategy<Value = (Value, Value)> {
    let fixed = |schema: Value| move |value: Value| (schema.clone(), value);
    let leaf = prop_oneof![
        3 => text().prop_map(Value::from).prop_map(fixed(json!({ "type": "string" }))),
        2 => number().prop_map(fixed(json!({ "type": "number" }))),
        2 => any::<i64>().prop_map(Value::from).prop_map(fixed(json!({ "type": "integer" }))),
        1 => any::<bool>().prop_map(Value::from).prop_map(fixed(json!({ "type": "boolean" }))),
        1 => Just((json!({ "type": "null" }), Value::Null)),
        1 => Just((json!({ "type": "string", "nullable": true }), Value::Null)),
        1 => text().prop_map(Value::from).prop_map(fixed(json!({ "type": ["string", "null", "integer"] }))),
        1 => number().prop_map(fixed(json!({ "type": ["number", "string", "array"] }))),
        1 => json_value().prop_map(fixed(json!({}))),
        1 => json_value().prop_map(|value| (json!({ "const": value }), value)),
        1 => (json_value(), json_value()).prop_map(|(a, b)| (json!({ "enum": [a, b] }), a)),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let pairs = || prop::collection::vec(inner.clone(), 1..4);
        let fields = || prop::collection::vec((key(), inner.clone()), 1..4);
        let map = |fields: Vec<(String, (Value, Value))>| -> (Vec<Value>, Value, Value) {
            let properties = object(fields.iter().map(|(k, (s, _))| (k.clone(), s.clone())).collect());
            let schemas = fields.iter().map(|(_, (schema, _))| schema.clone()).collect();
            let value = object(fields.into_iter().map(|(k, (_, v))| (k, v)).collect());
            (schemas, properties, value)
        };
        prop_oneof![
            2 => (fields(), any::<bool>()).prop_map(move |(fields, typed)| {
                let (_, properties, value) = map(fields);
                let mut schema = json!({ "properties": properties });
                if typed {
                    schema["type"] = json!("object");
                    schema["additionalProperties"] = json!(false);
                }
                (schema, value)
            }),
            1 => fields().prop_map(move |fields| {
                let (schemas, _, value) = map(fields);
                (json!({ "type": "object", "additionalProperties": { "anyOf": schemas } }), value)
            }),
            1 => pairs().prop_map(|pairs| {
                let (schemas, values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
                (json!({ "type": "array", "items": { "anyOf": schemas } }), Value::from(values))
            }),
            1 => pairs().prop_map(|pairs| {
                let (schemas, values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
                (json!({ "type": "array", "prefixItems": schemas, "items": false }), Value::from(values))
            }),
            1 => pairs().prop_map(|pairs| {
                let (schemas, mut values): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
                (json!({ "anyOf": schemas }), values.swap_remove(0))
            }),
            1 => inner.clone().prop_map(|(schema, value)| (json!({ "allOf": [schema, {}] }), value)),
            1 => inner.clone().prop_map(|(schema, value)| (json!({ "oneOf": [{ "not": {} }, schema] }), value)),
            1 => inner.clone().prop_map(|(schema, value)| (json!({ "hoist": schema }), value)),
        ]
    })
}

/// Moves every schema below `hoist` into `$defs` and refers to it.
pub(super) fn hoist(schema: Value, definitions: &mut Map<String, Value>) -> Value {
    match schema {
        Value::Object(mut map) if map.contains_key("hoist") => {
            let inner = hoist(map.shift_remove("hoist").unwrap_or_default(), definitions);
            let name = format!("d{}", definitions.len());
            let reference = json!({ "$ref": format!("#/$defs/{name}") });
            definitions.insert(name, inner);
            reference
        }
        Value::Object(map) => map
            .into_iter()
            .map(|(k, v)| (k, hoist(v, definitions)))
            .collect(),
        Value::Array(items) => items
            .into_iter()
            .map(|item| hoist(item, definitions))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema,
    }
}

pub(super) fn markers() -> impl Strategy<Value = Markers> {
    prop_oneof![
        Just(Markers::default()),
        Just(Markers::new("<<<START:", "<<<END:", "@p").unwrap()),
        any::<u64>().prop_map(Markers::nonce),
    ]
}
