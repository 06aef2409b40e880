//! The cases of the Berkeley Function Calling Leaderboard.
//!
//! The data comes from the package `bfcl-eval` (Apache-2.0), which `cargo xtask test servers` unpacks.

#![allow(
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::wildcard_enum_match_arm,
    reason = "tests of several crates include it, and it reads files"
)]

use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

pub const CATEGORIES: [&str; 10] = [
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
];

/// One case: its functions, and the calls that are expected.
pub struct Case {
    pub id: String,
    pub functions: Vec<Value>,
    pub calls: Vec<(String, Value)>,
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the package has this file");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

pub fn cases(folder: &Path, category: &str) -> Vec<Case> {
    let file = format!("BFCL_v4_{category}.json");
    let questions = lines(&folder.join(&file));
    let answers = lines(&folder.join("possible_answer").join(&file));
    let both = questions.into_iter().zip(answers);
    both.map(|(question, answer)| {
        assert_eq!(question["id"], answer["id"]);
        let truth = answer["ground_truth"].as_array().expect("a list");
        let calls = truth
            .iter()
            .flat_map(|call| call.as_object().expect("an object"));
        let calls = calls.map(|(name, params)| (name.clone(), accepted(params)));
        Case {
            id: question["id"].as_str().expect("an id").to_owned(),
            functions: question["function"].as_array().expect("a list").clone(),
            calls: calls.collect(),
        }
    })
    .collect()
}

/// Parameters of which each has a list of accepted values: the first ones. An empty text says that it may be left out.
fn accepted(params: &Value) -> Value {
    let mut out = Map::new();
    for (name, options) in params.as_object().expect("an object") {
        let options = options.as_array().expect("a list");
        if let Some(value) = options.first().filter(|value| **value != "") {
            out.insert(name.clone(), plain(value));
        }
    }
    Value::Object(out)
}

/// A value in which objects have lists of accepted values.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) if fields.values().all(Value::is_array) => accepted(value),
        Value::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

/// A schema in the words of JSON Schema.
pub fn schema(written: &Value) -> Value {
    match written {
        Value::Object(fields) => {
            let mut out = Map::new();
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("type", Value::String(word)) => {
                        if let Some(word) = type_of(word) {
                            out.insert(key.clone(), word.into());
                        }
                    }
                    ("properties", Value::Object(properties)) => {
                        let each = properties
                            .iter()
                            .map(|(name, value)| (name.clone(), schema(value)));
                        out.insert(key.clone(), Value::Object(each.collect()));
                    }
                    ("items" | "additionalProperties", value) => {
                        out.insert(key.clone(), schema(value));
                    }
                    ("enum" | "required" | "description", value) => {
                        out.insert(key.clone(), value.clone());
                    }
                    _ => {}
                }
            }
            Value::Object(out)
        }
        other => other.clone(),
    }
}

/// The types of Python, Java and JavaScript as those of JSON Schema; `None` for any.
fn type_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "dict" | "object" | "HashMap" | "Hashtable" | "Dictionary" => "object",
        "float" | "number" | "double" | "Double" => "number",
        "integer" | "int" | "long" | "short" | "byte" | "Long" | "Bigint" => "integer",
        "boolean" | "Boolean" => "boolean",
        "array" | "tuple" | "list" | "Array" | "ArrayList" | "Set" => "array",
        "string" | "String" | "char" => "string",
        _ => return None,
    })
}
