//! Objects: properties in the order of the schema, then those that it does not name.

use serde_json::{Map, Value};

/// A property.
#[derive(Clone, Debug)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) is_required: bool,
}

/// The properties of an object; those that are required and not described come last.
pub(super) fn properties(node: &Map<String, Value>) -> Vec<Property> {
    let required: Vec<&str> = node
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let described = node.get("properties").and_then(Value::as_object);
    let mut all: Vec<Property> = Vec::new();
    for (name, schema) in described.into_iter().flatten() {
        all.push(Property {
            name: name.clone(),
            schema: schema.clone(),
            is_required: required.contains(&name.as_str()),
        });
    }
    for name in required {
        if !all.iter().any(|known| known.name == name) {
            let more = node.get("additionalProperties").cloned();
            all.push(Property {
                name: name.to_owned(),
                schema: more.unwrap_or(Value::Bool(true)),
                is_required: true,
            });
        }
    }
    within(node, &mut all);
    all
}

/// Makes as many properties required, or leaves as many out, as `minProperties` and `maxProperties` demand.
fn within(node: &Map<String, Value>, all: &mut Vec<Property>) {
    let required = all.iter().filter(|it| it.is_required).count();
    if count(node, "maxProperties").is_some_and(|most| (most as usize) < all.len()) {
        all.retain(|it| it.is_required);
    }
    let least = count(node, "minProperties").unwrap_or(0) as usize;
    let missing = least.saturating_sub(required);
    for property in all.iter_mut().filter(|it| !it.is_required).take(missing) {
        property.is_required = true;
    }
}

pub(super) fn count(node: &Map<String, Value>, key: &str) -> Option<u32> {
    let count = node.get(key)?.as_u64()?;
    Some(u32::try_from(count).unwrap_or(u32::MAX))
}

/// How many properties there may be that are not described.
pub(super) fn room(node: &Map<String, Value>) -> Option<u32> {
    let described = u32::try_from(properties(node).len()).unwrap_or(u32::MAX);
    count(node, "maxProperties").map(|most| most.saturating_sub(described))
}

/// The schema of properties that are not described, if such are admitted: where the schema says so, or describes none.
pub(super) fn additional(node: &Map<String, Value>) -> Option<Value> {
    match node.get("additionalProperties") {
        Some(Value::Bool(false)) => None,
        Some(schema) => Some(schema.clone()),
        None if node.contains_key("properties") || node.contains_key("patternProperties") => None,
        None => Some(Value::Bool(true)),
    }
}
