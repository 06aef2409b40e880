//! The values that a schema lists.

use serde_json::{Map, Value};

use super::merge::types;
use super::number;
use crate::schema::Types;

/// The values of `enum` or `const` that satisfy the rest of the schema, as far as that is simple; none if it lists no values.
pub(super) fn listed(node: &Map<String, Value>) -> Option<Vec<&Value>> {
    let all = node.get("enum")?.as_array()?;
    let types = types(node);
    let fits = |value: &&Value| types.meets(Types::of(value)) && is_within(node, value);
    Some(all.iter().filter(fits).collect())
}

fn is_within(node: &Map<String, Value>, value: &Value) -> bool {
    let count = |key: &str| node.get(key).and_then(Value::as_u64);
    match value {
        Value::String(text) => {
            let length = text.chars().count() as u64;
            count("minLength").is_none_or(|least| length >= least)
                && count("maxLength").is_none_or(|most| length <= most)
        }
        Value::Number(number) => number.as_f64().is_none_or(|it| number::admits(node, it)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => true,
    }
}
