//! The words for one place of a schema: its type, its bounds, its values.

use serde_json::{Map, Value};

use crate::prompt::flat::Flat;

/// The kinds of value that the keywords name or imply; empty if any value will do.
pub(super) fn kinds(keywords: &Map<String, Value>) -> Vec<&str> {
    match keywords.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ if has_any(
            keywords,
            &["properties", "additionalProperties", "patternProperties"],
        ) =>
        {
            vec!["object"]
        }
        _ if has_any(keywords, &["items", "prefixItems"]) => vec!["array"],
        _ => Vec::new(),
    }
}

fn has_any(keywords: &Map<String, Value>, keys: &[&str]) -> bool {
    keys.iter().any(|key| keywords.contains_key(*key))
}

/// The schemas of the first items, in both spellings of the standard.
pub(super) fn tuple_items(keywords: &Map<String, Value>) -> &[Value] {
    let listed = keywords
        .get("prefixItems")
        .or_else(|| keywords.get("items"));
    listed
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// The exact values that are allowed: `always x`, `one of a | b`.
pub(super) fn fixed_values(keywords: &Map<String, Value>) -> Option<String> {
    if let Some(value) = keywords.get("const") {
        return Some(format!("always {}", show(value)));
    }
    match keywords.get("enum")?.as_array()?.as_slice() {
        [] => None,
        [only] => Some(format!("always {}", show(only))),
        values => Some(format!("one of {}", show_all(values))),
    }
}

/// Returns `true` if `flat` says no more than its kind.
pub(super) fn is_plain(flat: &Flat) -> bool {
    let scalar = matches!(
        kinds(&flat.keywords).as_slice(),
        [] | ["string" | "integer" | "number" | "boolean"]
    );
    scalar
        && !flat.nullable
        && flat.same_as.is_none()
        && flat.alternatives.is_empty()
        && fixed_values(&flat.keywords).is_none()
        && description(&flat.keywords).is_empty()
        && constraints(&flat.keywords).is_empty()
}

/// The description, or the title in its place.
pub(super) fn description(keywords: &Map<String, Value>) -> &str {
    let text = |key: &str| keywords.get(key).and_then(Value::as_str).map(str::trim);
    text("description")
        .filter(|text| !text.is_empty())
        .or_else(|| text("title"))
        .unwrap_or("")
}

/// Everything that narrows the value, and the default, in a fixed order.
pub(super) fn constraints(keywords: &Map<String, Value>) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(between(keywords, "", ("minimum", "maximum"), ("", "")));
    for (key, words) in [
        ("exclusiveMinimum", "more than"),
        ("exclusiveMaximum", "less than"),
        ("multipleOf", "multiple of"),
    ] {
        if let Some(bound) = keywords.get(key).filter(|bound| bound.is_number()) {
            out.push(format!("{words} {bound}"));
        }
    }
    out.extend(between(
        keywords,
        "length ",
        ("minLength", "maxLength"),
        ("", ""),
    ));
    out.extend(between(
        keywords,
        "",
        ("minItems", "maxItems"),
        (" item", " items"),
    ));
    if keywords.get("uniqueItems") == Some(&Value::Bool(true)) {
        out.push("no item twice".to_owned());
    }
    out.extend(between(
        keywords,
        "",
        ("minProperties", "maxProperties"),
        (" entry", " entries"),
    ));
    for (key, words) in [
        ("pattern", "matches"),
        ("format", "format"),
        ("contentEncoding", "encoding"),
        ("contentMediaType", "media type"),
    ] {
        if let Some(text) = keywords.get(key).and_then(Value::as_str) {
            out.push(format!("{words} {}", one_line(text)));
        }
    }
    if let Some(Value::Object(names)) = keywords.get("propertyNames") {
        let narrowed = fixed_values(names).into_iter().chain(constraints(names));
        out.extend(narrowed.map(|words| format!("keys: {words}")));
    }
    if let Some(value) = keywords.get("default") {
        out.push(format!("default {}", show(value)));
    }
    if let Some(values) = keywords.get("examples").and_then(Value::as_array) {
        let few = &values[..values.len().min(3)];
        if !few.is_empty() {
            out.push(format!("such as {}", show_all(few)));
        }
    }
    out
}

/// Formats a lower and an upper bound, with the singular and plural of the unit.
fn between(
    keywords: &Map<String, Value>,
    before: &str,
    (low, high): (&str, &str),
    (one, many): (&str, &str),
) -> Option<String> {
    let number = |key: &str| keywords.get(key).filter(|bound| bound.is_number());
    let (words, last) = match (number(low), number(high)) {
        (None, None) => return None,
        (Some(low), None) => (format!("at least {low}"), low),
        (None, Some(high)) => (format!("at most {high}"), high),
        (Some(low), Some(high)) if low == high => (format!("exactly {low}"), high),
        (Some(low), Some(high)) => (format!("{low} to {high}"), high),
    };
    let unit = if last.as_u64() == Some(1) { one } else { many };
    Some(format!("{before}{words}{unit}"))
}

/// A value as a model would write it: plain text where that cannot be misread, else JSON.
fn show(value: &Value) -> String {
    match value.as_str() {
        Some(text) if reads_plainly(text) => text.to_owned(),
        _ => value.to_string(),
    }
}

/// Writes several values as text.
pub(super) fn show_all(values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().map(show).collect();
    shown.join(" | ")
}

fn reads_plainly(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.contains(|c: char| c.is_control() || matches!(c, '"' | ';' | '|' | '(' | ')'))
}

/// `text` if it has no control characters, else its JSON form.
fn one_line(text: &str) -> String {
    if text.contains(char::is_control) {
        Value::from(text).to_string()
    } else {
        text.to_owned()
    }
}
