//! Reads single nodes of a schema.

use std::borrow::Cow;

use serde_json::Value;

use crate::schema::compiled::core::Core;
use crate::schema::compiled::expand::{Node, entry, find};
use crate::schema::compiled::types::Types;

pub(super) fn listed(node: Node<'_>) -> Option<Vec<&Value>> {
    if let Some(constant) = find(node, "const") {
        return Some(vec![constant]);
    }
    let options = find(node, "enum")?.as_array()?;
    Some(options.iter().collect())
}

/// Every type that an alternative may admit.
pub(super) fn types(alternative: &[Node<'_>]) -> Types {
    let declared = alternative.iter().filter_map(|node| Types::declared(node));
    declared.fold(Types::ALL, |all, types| all & types)
}

/// The key, if a node distinguishes it from any other. Borrowed if the node has this very key.
pub(super) fn names<'a>(node: Node<'a>, key: &str) -> Option<Cow<'a, str>> {
    let object = |keyword: &str| find(node, keyword).and_then(Value::as_object);
    if let Some((declared, _)) = object("properties").and_then(|named| entry(named, key)) {
        return Some(Cow::Borrowed(declared));
    }
    let patterns = object("patternProperties")?;
    (!patterns.is_empty()).then(|| Cow::Owned(key.to_owned()))
}

/// Adds what a node says about a key; `None` is one that it does not [name](names).
pub(super) fn property<'a>(
    core: &Core,
    node: Node<'a>,
    key: Option<&str>,
    said: &mut Vec<&'a Value>,
) {
    let object = |keyword: &str| find(node, keyword).and_then(Value::as_object);
    let before = said.len();
    let mut unsure = false;
    if let Some(key) = key {
        said.extend(object("properties").and_then(|named| find(named, key)));
        for (pattern, node) in object("patternProperties").into_iter().flatten() {
            match core.pattern_matches(pattern, key) {
                Some(true) => said.push(node),
                Some(false) => {}
                None => unsure = true,
            }
        }
    }
    if said.len() == before && !unsure {
        said.extend(find(node, "additionalProperties"));
    }
}

/// Returns what a node says about an element.
pub(super) fn item(node: Node<'_>, index: usize) -> Option<&Value> {
    let (head, rest) = tuple(node);
    head.and_then(|head| head.get(index))
        .or_else(|| find(node, rest))
}

/// Elements that a node distinguishes from those after them.
pub(super) fn tuple_length(node: Node<'_>) -> usize {
    tuple(node).0.map_or(0, Vec::len)
}

/// The subschemas of the first elements, and the keyword of the others.
fn tuple(node: Node<'_>) -> (Option<&Vec<Value>>, &'static str) {
    let tuple = |keyword: &str| find(node, keyword).and_then(Value::as_array);
    match (tuple("prefixItems"), tuple("items")) {
        (Some(head), _) => (Some(head), "items"),
        (None, Some(head)) => (Some(head), "additionalItems"),
        (None, None) => (None, "items"),
    }
}
