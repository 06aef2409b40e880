//! Objects: properties in the order of the schema, then those that it does not name.

use serde_json::{Map, Value};

use super::avoid::other_than;
use super::class::Class;
use super::json::{COMMA, JsonWriter};
use super::pattern::{Alphabet, expression};
use super::rules::{quoted, repeat, sequence};

/// What may surround the pattern of a key.
const KEY: &str = "[A-Za-z0-9_]*";

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

fn count(node: &Map<String, Value>, key: &str) -> Option<u32> {
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

/// An object as JSON; none if no object satisfies the schema.
pub(super) fn object(writer: &mut JsonWriter<'_>, node: &Map<String, Value>) -> Option<String> {
    let mut fields = Vec::new();
    for property in properties(node) {
        match writer.property(&property.name, &property.schema) {
            Some(value) => {
                let key = quoted(&format!("{}:", writer.literal(&Value::from(property.name))));
                fields.push((format!("{key} \" \"? {value}"), property.is_required));
            }
            None if property.is_required => return None,
            None => {}
        }
    }
    let (more, least, most) = entries(writer, node);
    let body = match more {
        None => listed(writer, &fields, None),
        Some(entry) if fields.is_empty() => {
            let rest = repeat(
                &format!("({COMMA} {entry})"),
                least.saturating_sub(1),
                most.map(|most| most.saturating_sub(1)),
            );
            let all = format!("{entry} {rest}");
            if most == Some(0) {
                String::new()
            } else if least == 0 {
                format!("({all})?")
            } else {
                all
            }
        }
        Some(entry) => listed(writer, &fields, Some((&entry, most))),
    };
    let body = sequence(["\"{\"", body.as_str(), "\"}\""]);
    Some(writer.rules.add("object", &body))
}

/// A property that is not described, and how many there may be.
fn entries(
    writer: &mut JsonWriter<'_>,
    node: &Map<String, Value>,
) -> (Option<String>, u32, Option<u32>) {
    let least = count(node, "minProperties").unwrap_or(0).min(50);
    let most = room(node).filter(|most| *most <= 50);
    let names: Vec<String> = node
        .get("properties")
        .and_then(Value::as_object)
        .map(|names| names.keys().cloned().collect())
        .unwrap_or_default();
    let by_pattern = node.get("patternProperties").and_then(Value::as_object);
    if let Some((pattern, schema)) = by_pattern.and_then(|it| it.iter().next())
        && names.is_empty()
    {
        let excluded = [('"', '"'), ('\\', '\\'), ('\0', '\x1f'), ('<', '<')];
        let literal =
            |c: char| (!matches!(c, '"' | '\\' | '<') && !c.is_control()).then(|| c.to_string());
        let alphabet = Alphabet {
            excluded: &excluded,
            literal: &literal,
            before: KEY,
            after: KEY,
        };
        let key = expression(pattern, &alphabet, 0, None);
        let entry = key.and_then(|key| {
            let value = writer.value(schema)?;
            Some(format!("\"\\\"\" {key} \"\\\":\" \" \"? {value}"))
        });
        return (entry, least, most);
    }
    let Some(schema) = additional(node) else {
        return (None, least, most);
    };
    let Some(value) = writer.value(&schema) else {
        return (None, least, most);
    };
    let key = match node.get("propertyNames").and_then(Value::as_object) {
        Some(names) => {
            let mut names = names.clone();
            names.entry("type").or_insert_with(|| "string".into());
            writer.value(&Value::Object(names))
        }
        None if names.is_empty() => Some(writer.any_string()),
        None => {
            let other = other_than(writer.rules, &names, &key_class());
            Some(format!("\"\\\"\" {other} \"\\\"\""))
        }
    };
    (
        key.map(|key| format!("{key} \":\" \" \"? {value}")),
        least,
        most,
    )
}

/// Characters of a key that is not described.
fn key_class() -> Class {
    Class {
        is_negated: true,
        ranges: vec![('"', '"'), ('\\', '\\'), ('<', '<'), ('\0', '\x1f')],
    }
}

/// Fields in order, with commas between them. Where the first ones may be absent, a rule for each says what may come next:
///
/// ```text
/// fields-0 ::= "a" rest-1 | fields-1          rest-1 ::= ("," "b")? rest-2
/// ```
fn listed(
    writer: &mut JsonWriter<'_>,
    fields: &[(String, bool)],
    more: Option<(&str, Option<u32>)>,
) -> String {
    let more = more.filter(|(_, most)| *most != Some(0));
    let more = more.map(|(entry, most)| {
        let next = format!("({COMMA} {entry})");
        let tail = repeat(&next, 0, most.map(|most| most - 1));
        (repeat(&next, 0, most), format!("({entry} {tail})?"))
    });
    let (mut rest, mut first) = more.unwrap_or_default();
    let count = fields.len();
    for (at, (field, is_required)) in fields.iter().enumerate().rev() {
        let own = sequence([field.as_str(), rest.as_str()]);
        let is_needed = fields[..at].iter().all(|(_, is_required)| !is_required);
        if is_needed {
            first = if *is_required {
                own
            } else if first.is_empty() {
                format!("({own})?")
            } else {
                let first_name = writer.rules.add("fields", &first);
                format!("({own} | {first_name})")
            };
        }
        let optional = if *is_required { "" } else { "?" };
        let next = format!("({COMMA} {field}){optional}");
        rest = sequence([next.as_str(), rest.as_str()]);
        if at > 0 && (at % 4 == 0 || is_needed && count > 3) {
            rest = writer.rules.add("rest", &rest);
        }
    }
    first
}
