//! The part of a schema that models are shown.

use serde_json::{Map, Value};

use crate::schema::compiled::normal::visit;

/// Returns the schema without optional properties and alternatives that are `deprecated`: names and forms that other programs use, which
/// calls may have. Where an object has lost some properties, as many of the others as its `minProperties` demands are required. `None` if
/// that is the same schema.
pub(crate) fn shown(schema: &Value) -> Option<Value> {
    let mut shown = schema.clone();
    let mut has_changed = false;
    visit(&mut shown, &mut |node| {
        let hidden = hidden(node);
        if let Some(Value::Object(properties)) = node.get_mut("properties")
            && !hidden.is_empty()
        {
            properties.retain(|name, _| !hidden.contains(name));
            let names = properties.keys().cloned().collect();
            require(node, names);
            has_changed = true;
        }
        has_changed |= hide_alternatives(node);
    });
    has_changed.then_some(shown)
}

/// Removes the alternatives that are deprecated, unless all are. The only one that is left is the schema itself.
fn hide_alternatives(node: &mut Map<String, Value>) -> bool {
    let Some(Value::Array(all)) = node.get_mut("anyOf") else {
        return false;
    };
    let count = all.len();
    if !all.iter().all(is_deprecated) {
        all.retain(|it| !is_deprecated(it));
    }
    let has_changed = all.len() < count;
    if has_changed && let [Value::Object(only)] = all.as_slice() {
        let only = only.clone();
        node.remove("anyOf");
        for (name, value) in only {
            node.entry(name).or_insert(value);
        }
    }
    has_changed
}

fn is_deprecated(schema: &Value) -> bool {
    schema.get("deprecated") == Some(&Value::Bool(true))
}

fn hidden(node: &Map<String, Value>) -> Vec<String> {
    let Some(Value::Object(properties)) = node.get("properties") else {
        return Vec::new();
    };
    let required = node.get("required").and_then(Value::as_array);
    let is_hidden = |(name, schema): &(&String, &Value)| {
        let is_required = required.is_some_and(|all| all.iter().any(|it| it == *name));
        is_deprecated(schema) && !is_required
    };
    let hidden = properties.iter().filter(is_hidden);
    hidden.map(|(name, _)| name.clone()).collect()
}

/// Adds the first of `names` to those that are required, up to `minProperties`.
fn require(node: &mut Map<String, Value>, names: Vec<String>) {
    let least = node.get("minProperties").and_then(Value::as_u64);
    let least = usize::try_from(least.unwrap_or(0)).unwrap_or(usize::MAX);
    if least == 0 {
        return;
    }
    let required = node
        .entry("required")
        .or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(required) = required else {
        return;
    };
    for name in names {
        if required.len() < least && !required.iter().any(|it| *it == name) {
            required.push(name.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn deprecated_names_are_not_shown() {
        let check = |schema: Value, expected: Option<Value>| {
            assert_eq!(shown(&schema), expected, "{schema}");
        };
        let old = json!({ "type": "string", "deprecated": true });
        check(json!(true), None);
        check(
            json!({ "properties": { "a": {} }, "minProperties": 1 }),
            None,
        );
        // What must be there is shown.
        check(
            json!({ "properties": { "b": old }, "required": ["b"] }),
            None,
        );
        check(
            json!({ "properties": { "a": { "deprecated": false }, "b": old } }),
            Some(json!({ "properties": { "a": { "deprecated": false } } })),
        );
        check(
            json!({ "anyOf": [{ "enum": ["a"] }, old], "default": "a" }),
            Some(json!({ "enum": ["a"], "default": "a" })),
        );
        check(
            json!({ "anyOf": [{}, true, old] }),
            Some(json!({ "anyOf": [{}, true] })),
        );
        check(json!({ "anyOf": [old] }), None);
        let item = json!({ "properties": { "c": {}, "d": {}, "e": old }, "minProperties": 1 });
        let item_shown =
            json!({ "properties": { "c": {}, "d": {} }, "minProperties": 1, "required": ["c"] });
        check(
            json!({ "properties": { "a": { "items": item }, "b": old }, "minProperties": 1 }),
            Some(json!({
                "properties": { "a": { "items": item_shown } }, "minProperties": 1, "required": ["a"],
            })),
        );
    }
}
