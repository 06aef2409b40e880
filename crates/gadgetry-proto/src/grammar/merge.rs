//! Schemas without references and combinations: each as the alternatives that it is.

use serde_json::{Map, Value, json};

use crate::schema::Types;

/// Alternatives of one schema, after which the rest is left out.
const ALTERNATIVES: usize = 64;
/// References and combinations, one in another.
const DEPTH: usize = 24;

type Node = Map<String, Value>;

/// Keywords that name no condition on the value that they are next to.
const NO_CONDITION: [&str; 9] = [
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "$schema",
    "$id",
    "$comment",
];

/// The alternatives of a schema, none of which has `$ref`, `allOf`, `anyOf` or `oneOf`. Empty if it admits nothing.
pub(super) fn alternatives(root: &Value, schema: &Value) -> Vec<Node> {
    expand(root, schema, DEPTH)
}

/// The types of an alternative: those that it names, or those that its keywords are about.
pub(super) fn types(node: &Node) -> Types {
    let about_numbers = [
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ];
    let has = |keys: &[&str]| keys.iter().any(|key| node.contains_key(*key));
    Types::declared(node)
        .or_else(|| Types::implied(node))
        .unwrap_or_else(|| {
            if has(&about_numbers) {
                Types::NUMBER
            } else if has(&["pattern", "minLength", "maxLength", "format"]) {
                Types::STRING
            } else if has(&["minItems", "maxItems", "uniqueItems", "contains"]) {
                Types::ARRAY
            } else if has(&["minProperties", "maxProperties", "propertyNames"]) {
                Types::OBJECT
            } else {
                Types::ALL
            }
        })
}

fn expand(root: &Value, schema: &Value, depth: usize) -> Vec<Node> {
    let node = match schema {
        Value::Bool(false) => return Vec::new(),
        Value::Object(node) => node,
        Value::Null | Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return vec![Node::new()];
        }
    };
    if depth == 0 {
        return vec![Node::new()];
    }
    let mut own = Node::new();
    let mut parts: Vec<Vec<Node>> = Vec::new();
    for (key, value) in node {
        match (key.as_str(), value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(to)) => {
                parts.push(target(root, to).map_or_else(
                    || vec![Node::new()],
                    |target| expand(root, target, depth - 1),
                ));
            }
            ("allOf", Value::Array(all)) => {
                parts.extend(all.iter().map(|one| expand(root, one, depth - 1)));
            }
            ("anyOf" | "oneOf", Value::Array(any)) => {
                let mut each: Vec<Node> = Vec::new();
                for one in any {
                    each.extend(expand(root, one, depth - 1));
                    each.truncate(ALTERNATIVES);
                }
                parts.push(each);
            }
            (key, _) if NO_CONDITION.contains(&key) => {}
            ("const", value) => {
                own.insert("enum".to_owned(), json!([value]));
            }
            (key, value) => {
                own.insert(key.to_owned(), value.clone());
            }
        }
    }
    let mut all = vec![own];
    for part in parts {
        let mut merged = Vec::new();
        for one in &all {
            for other in &part {
                merged.extend(merge(one, other));
            }
        }
        merged.truncate(ALTERNATIVES);
        all = merged;
    }
    all
}

fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    if let Some(found) = root.pointer(&unescaped(pointer)) {
        return Some(found);
    }
    // An anchor or an id.
    let definitions = ["$defs", "definitions"]
        .iter()
        .filter_map(|key| root.get(*key)?.as_object());
    let mut all = definitions.flat_map(|it| it.values());
    all.find(|it| it.get("$anchor").and_then(Value::as_str) == Some(pointer))
}

/// A pointer without the escapes of a URI.
fn unescaped(pointer: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = pointer.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What satisfies both; none if nothing does.
fn merge(left: &Node, right: &Node) -> Option<Node> {
    let mut out = left.clone();
    for (key, new) in right {
        let Some(old) = left.get(key) else {
            out.insert(key.clone(), new.clone());
            continue;
        };
        if old == new {
            continue;
        }
        let merged = match key.as_str() {
            "type" => types_of_both(old, new)?,
            "enum" => {
                let (old, new) = (old.as_array()?, new.as_array()?);
                let both: Vec<Value> = old.iter().filter(|it| new.contains(it)).cloned().collect();
                if both.is_empty() {
                    return None;
                }
                Value::Array(both)
            }
            "properties" | "patternProperties" => {
                let (mut all, new) = (old.as_object()?.clone(), new.as_object()?);
                for (name, schema) in new {
                    let merged = all.get(name).map(|old| both(old, schema));
                    all.insert(name.clone(), merged.unwrap_or_else(|| schema.clone()));
                }
                Value::Object(all)
            }
            "required" => {
                let mut all = old.as_array()?.clone();
                all.extend(
                    new.as_array()?
                        .iter()
                        .filter(|it| !old.as_array().is_some_and(|old| old.contains(it)))
                        .cloned(),
                );
                Value::Array(all)
            }
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties"
                if old.is_number() && new.is_number() =>
            {
                if old.as_f64() >= new.as_f64() {
                    old.clone()
                } else {
                    new.clone()
                }
            }
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties"
                if old.is_number() && new.is_number() =>
            {
                if old.as_f64() <= new.as_f64() {
                    old.clone()
                } else {
                    new.clone()
                }
            }
            "items" | "additionalProperties" | "propertyNames" => both(old, new),
            "prefixItems" => {
                let (old, new) = (old.as_array()?, new.as_array()?);
                let longer = if old.len() >= new.len() { old } else { new };
                let each =
                    longer
                        .iter()
                        .enumerate()
                        .map(|(at, one)| match (old.get(at), new.get(at)) {
                            (Some(old), Some(new)) => both(old, new),
                            _ => one.clone(),
                        });
                Value::Array(each.collect())
            }
            _ => new.clone(),
        };
        out.insert(key.clone(), merged);
    }
    Some(out)
}

/// A schema for what satisfies both.
fn both(old: &Value, new: &Value) -> Value {
    match (old, new) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => Value::Bool(false),
        (Value::Bool(true), other) | (other, Value::Bool(true)) => other.clone(),
        (old, new) if old == new => old.clone(),
        (old, new) => json!({ "allOf": [old, new] }),
    }
}

fn types_of_both(old: &Value, new: &Value) -> Option<Value> {
    let list = |value: &Value| {
        let names = value.as_array().cloned();
        names.unwrap_or_else(|| vec![value.clone()])
    };
    let (old, new) = (list(old), list(new));
    let has = |names: &[Value], name: &str| names.iter().any(|it| it == name);
    let mut all = Vec::new();
    for name in &old {
        if new.contains(name) {
            all.push(name.clone());
        } else if name == "integer" && has(&new, "number")
            || name == "number" && has(&new, "integer")
        {
            all.push("integer".into());
        }
    }
    all.dedup();
    (!all.is_empty()).then_some(Value::Array(all))
}
