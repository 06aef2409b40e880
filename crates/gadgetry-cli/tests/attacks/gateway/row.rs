//! One attack on the gateway as it is written in the corpus.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::attacks::row::{Reply, expand, fill_but_name};

/// A gateway, an upstream, and what clients send one after the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Row {
    /// What is tried.
    pub(crate) name: String,
    /// Arguments of `serve` in addition to the usual ones.
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// A configuration file in place of `--upstream`; `{BASE}` is the upstream's address.
    pub(crate) config: Option<String>,
    /// Whether there are the keys of the clients A and B.
    #[serde(default = "yes")]
    pub(crate) keys: bool,
    /// What the upstream answers, in order; the last one again and again.
    pub(crate) replies: Vec<Reply>,
    /// What it answers to GET requests, by path; 404 to all others.
    #[serde(default)]
    pub(crate) gets: BTreeMap<String, Reply>,
    pub(crate) steps: Vec<Step>,
    /// Texts that no request to the upstream may hold.
    #[serde(default)]
    pub(crate) unsent: Vec<String>,
    /// Texts that some request to the upstream holds.
    #[serde(default)]
    pub(crate) sends: Vec<String>,
}

/// One request of a client, and what must come of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Step {
    /// Whose key it has: `A`, `B`, or none.
    #[serde(default, rename = "as")]
    pub(crate) client: String,
    #[serde(default = "post")]
    pub(crate) method: String,
    pub(crate) path: String,
    /// Headers in place of the usual ones.
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// The body; `{NAME}` is what an earlier step has kept.
    #[serde(default)]
    pub(crate) body: Value,
    /// N connections send the head and the beginning of the body, and stay open.
    #[serde(default)]
    pub(crate) slow: usize,
    pub(crate) status: u16,
    /// Texts that the answer holds, in its head or body.
    #[serde(default)]
    pub(crate) says: Vec<String>,
    /// Texts that it may not hold.
    #[serde(default)]
    pub(crate) hides: Vec<String>,
    /// Parts of the answer for later steps, by JSON pointers.
    #[serde(default)]
    pub(crate) keep: BTreeMap<String, String>,
    /// The answer is that of the step with this number, from 0, if `id` is taken out of both.
    pub(crate) like: Option<usize>,
    #[serde(default)]
    pub(crate) id: String,
}

fn yes() -> bool {
    true
}

fn post() -> String {
    "POST".to_owned()
}

/// All rows, `each` and `{TIMES:n}` expanded.
pub(crate) fn load(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).expect("a file");
    let written: Vec<Value> =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let rows = written.into_iter().flat_map(expand).map(|mut row| {
        fill_but_name(&mut row);
        let row = repeated(&row);
        let name = row["name"].to_string();
        serde_json::from_value(row).unwrap_or_else(|error| panic!("{name}: {error}"))
    });
    rows.collect()
}

/// A list `["{TIMES:n}", value]` is n values, and an object `{"{TIMES:n}": {"name": value}}` n fields; `{AT}` in them is
/// their number.
fn repeated(value: &Value) -> Value {
    match value {
        Value::Array(items) => match items.as_slice() {
            [Value::String(head), item] if times(head).is_some() => {
                let all = 0..times(head).unwrap_or(0);
                all.map(|at| repeated(&numbered(item, at))).collect()
            }
            items => items.iter().map(repeated).collect(),
        },
        Value::Object(fields) => {
            let mut out = Map::new();
            for (name, field) in fields {
                let Some(times) = times(name) else {
                    out.insert(name.clone(), repeated(field));
                    continue;
                };
                for at in 0..times {
                    let all = repeated(&numbered(field, at));
                    out.extend(all.as_object().cloned().unwrap_or_default());
                }
            }
            Value::Object(out)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn times(text: &str) -> Option<usize> {
    let number = text.strip_prefix("{TIMES:")?.strip_suffix('}')?;
    number.parse().ok()
}

fn numbered(value: &Value, at: usize) -> Value {
    replaced(value, &BTreeMap::from([("AT".to_owned(), at.to_string())]))
}

/// The value with `{NAME}` replaced in its texts and names.
pub(crate) fn replaced(value: &Value, names: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => text_replaced(text, names).into(),
        Value::Array(items) => items.iter().map(|item| replaced(item, names)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (text_replaced(name, names), replaced(field, names)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

pub(crate) fn text_replaced(text: &str, names: &BTreeMap<String, String>) -> String {
    let mut text = text.to_owned();
    if text.contains('{') {
        for (name, value) in names {
            text = text.replace(&format!("{{{name}}}"), value);
        }
    }
    text
}

#[test]
fn values_are_repeated() {
    let row = serde_json::json!({"a": ["{TIMES:2}", {"x{AT}": [1]}], "b": {"{TIMES:2}": {"p{AT}": "{AT}"}}, "c": ["d"]});
    let expected = serde_json::json!({"a": [{"x0": [1]}, {"x1": [1]}], "b": {"p0": "0", "p1": "1"}, "c": ["d"]});
    assert_eq!(repeated(&row), expected);
}
