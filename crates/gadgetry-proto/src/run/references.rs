//! `${id}` in parameters: the result of a dependency takes the place of the whole value.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::call::Call;
use crate::id::InvocationId;
use crate::run::state::Known;
use crate::spec::View;
use crate::spec::coerce;

/// Whether the call may refer to results.
pub(super) fn has_any(call: &Call) -> bool {
    !call.dependencies.is_empty() && call.parameters_raw.contains("${")
}

/// Replaces every reference to a declared dependency, and coerces what takes its place as if it had been written there.
///
/// A reference is a value whose whole text is `${id}`, or `${id/pointer}` for a part of a result that is JSON.
pub(super) fn resolve(
    parameters: &mut Value,
    place: &View<'_>,
    dependencies: &[InvocationId],
    results: &BTreeMap<InvocationId, Known>,
) -> Result<(), String> {
    match parameters {
        Value::String(text) => {
            if let Some(found) = lookup(text, dependencies, results) {
                *parameters = coerce(&found?, Some(place));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                resolve(item, &place.item(index), dependencies, results)?;
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                resolve(field, &place.property(key), dependencies, results)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

/// What `text` refers to; `None` if it is no reference.
fn lookup(
    text: &str,
    dependencies: &[InvocationId],
    results: &BTreeMap<InvocationId, Known>,
) -> Option<Result<String, String>> {
    let reference = text.strip_prefix("${")?.strip_suffix('}')?;
    let (id, pointer) = reference.split_once('/').unwrap_or((reference, ""));
    let id = dependencies
        .iter()
        .find(|dependency| dependency.as_str() == id)?;
    let Some(Known { text: result, .. }) = results.get(id) else {
        return Some(Err(format!(
            "Error: {text} has no value: \"{id}\" has no result"
        )));
    };
    if pointer.is_empty() {
        return Some(Ok(result.as_ref().to_owned()));
    }
    let Ok(json) = serde_json::from_str::<Value>(result) else {
        return Some(Err(format!(
            "Error: {text} has no value: the result of \"{id}\" is not JSON"
        )));
    };
    Some(match json.pointer(&format!("/{pointer}")) {
        Some(Value::String(part)) => Ok(part.clone()),
        Some(part) => Ok(part.to_string()),
        None => Err(format!(
            "Error: {text} has no value: the result of \"{id}\" has no /{pointer}"
        )),
    })
}
