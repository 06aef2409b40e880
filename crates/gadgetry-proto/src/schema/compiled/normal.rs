//! Rewrites the dialects that tool descriptions are written in into plain JSON Schema 2020-12.
//!
//! - `nullable: true` (`OpenAPI`) adds the type `null` to the others;
//! - `items: [..]` (drafts before 2020-12) becomes `prefixItems`, and `additionalItems` becomes `items`.
//!
//! A schema that names its draft in `$schema` keeps its tuples as they are.

use serde_json::Map;
use serde_json::Value;

/// Keywords that hold a subschema.
const ONE: [&str; 12] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords that hold a list of subschemas.
const LIST: [&str; 5] = ["allOf", "anyOf", "items", "oneOf", "prefixItems"];
/// Keywords that hold subschemas by name.
const NAMED: [&str; 5] = [
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// The same schema in plain JSON Schema.
pub(crate) fn normal(mut schema: Value) -> Value {
    let tuples = schema.get("$schema").is_none();
    visit(&mut schema, &mut |node| {
        if tuples {
            tuple(node);
        }
        nullable(node);
    });
    schema
}

/// Calls `each` on every subschema that is an object, inner ones first.
pub(super) fn visit(schema: &mut Value, each: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(node) = schema else {
        return;
    };
    for (keyword, value) in node.iter_mut() {
        let keyword = keyword.as_str();
        match value {
            Value::Object(_) if ONE.contains(&keyword) => visit(value, each),
            Value::Object(named) if NAMED.contains(&keyword) => {
                for schema in named.values_mut() {
                    visit(schema, each);
                }
            }
            Value::Array(list) if LIST.contains(&keyword) => {
                for schema in list {
                    visit(schema, each);
                }
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {}
        }
    }
    each(node);
}

fn tuple(node: &mut Map<String, Value>) {
    if !node.get("items").is_some_and(Value::is_array) || node.contains_key("prefixItems") {
        return;
    }
    if let Some(items) = take(node, "items") {
        node.insert("prefixItems".to_owned(), items);
    }
    if let Some(rest) = take(node, "additionalItems") {
        node.insert("items".to_owned(), rest);
    }
}

fn nullable(node: &mut Map<String, Value>) {
    if node.get("nullable") != Some(&Value::Bool(true)) {
        return;
    }
    take(node, "nullable");
    let wraps = ["const", "$ref", "allOf", "anyOf", "oneOf", "not"];
    if wraps.iter().any(|keyword| node.contains_key(*keyword)) {
        let definitions: Vec<_> = ["$defs", "definitions", "default", "description", "title"]
            .into_iter()
            .filter_map(|keyword| Some((keyword.to_owned(), take(node, keyword)?)))
            .collect();
        let inner = Value::Object(std::mem::take(node));
        let null: Value = [("type", "null")].into_iter().collect();
        node.insert("anyOf".to_owned(), Value::from(vec![inner, null]));
        node.extend(definitions);
        return;
    }
    let name_of_null = Value::from("null");
    match node.get_mut("type") {
        Some(Value::Array(names)) if !names.contains(&name_of_null) => names.push(name_of_null),
        Some(name) if name.is_string() => *name = Value::from(vec![name.take(), name_of_null]),
        Some(_) | None => {}
    }
    if let Some(Value::Array(options)) = node.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
}

/// Takes an entry out. The order of the others stays, if objects have one.
fn take(node: &mut Map<String, Value>, key: &str) -> Option<Value> {
    #[cfg(feature = "preserve_order")]
    return node.shift_remove(key);
    #[cfg(not(feature = "preserve_order"))]
    return node.remove(key);
}
