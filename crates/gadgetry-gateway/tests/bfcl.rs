//! Every ground-truth call of the Berkeley Function Calling Leaderboard: written by a text model, received through each API.
//!
//! The data comes from the package `bfcl-eval` (Apache-2.0), which `cargo xtask test servers` unpacks. A call whose parameters do
//! not fit its own schema is left out, which about one in twenty does not.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gadgetry::proto::block::{Anchoring, Writer};
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::schema::RegisteredGadget;
use gadgetry_gateway::Api;
use gadgetry_gateway::exchange::{Progress, Tool, Toolset};
use serde_json::{Map, Value, json};

use crate::support::exchanges::{Client, end};
use crate::support::installed;

pub(crate) const CATEGORIES: [&str; 10] = [
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
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) functions: Vec<Value>,
    pub(crate) calls: Vec<(String, Value)>,
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the package has this file");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

pub(crate) fn cases(folder: &Path, category: &str) -> Vec<Case> {
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
pub(crate) fn schema(written: &Value) -> Value {
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

/// The calls that a client of an API receives, as that API writes them.
fn received(
    api: Api,
    client: &Client,
    tools: &Arc<Toolset>,
    functions: &[Value],
    text: &str,
) -> Vec<(String, Value)> {
    let request = api.decode(body(api, functions)).expect("a valid request");
    let mut encoder = api.encoder(&request, "1", 0);
    let mut exchange = client.exchange_with(request, Arc::clone(tools), 1);
    let mut out = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    for piece in chars.chunks(7) {
        exchange.push(Delta::text(piece.iter().collect::<String>()), &mut out);
    }
    assert_eq!(
        end(&mut exchange, StopReason::Stop, &mut out),
        Progress::Done,
        "{text}"
    );
    for delta in out {
        encoder.delta(delta, &mut Vec::new());
    }
    calls_of(api, &encoder.document())
}

/// A request with these functions.
fn body(api: Api, functions: &[Value]) -> Value {
    let tools = functions.iter().map(|function| {
        let (name, schema) = (&function["name"], schema(&function["parameters"]));
        match api {
            Api::Chat => {
                json!({"type": "function", "function": {"name": name, "parameters": schema}})
            }
            Api::Responses => json!({"type": "function", "name": name, "parameters": schema}),
            Api::Messages => json!({"name": name, "input_schema": schema}),
        }
    });
    let tools: Value = tools.collect();
    match api {
        Api::Chat | Api::Messages => {
            json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "?"}], "tools": tools})
        }
        Api::Responses => json!({"model": "m", "input": "?", "tools": tools}),
    }
}

/// Names and arguments of the calls in a document.
fn calls_of(api: Api, document: &Value) -> Vec<(String, Value)> {
    let parsed = |json: &Value| serde_json::from_str(json.as_str().expect("a text")).expect("JSON");
    let name = |value: &Value| value.as_str().expect("a name").to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match api {
        Api::Chat => list(&document["choices"][0]["message"]["tool_calls"])
            .iter()
            .map(|call| {
                (
                    name(&call["function"]["name"]),
                    parsed(&call["function"]["arguments"]),
                )
            })
            .collect(),
        Api::Responses => list(&document["output"])
            .iter()
            .filter(|item| item["type"] == "function_call")
            .map(|item| (name(&item["name"]), parsed(&item["arguments"])))
            .collect(),
        Api::Messages => list(&document["content"])
            .iter()
            .filter(|block| block["type"] == "tool_use")
            .map(|block| (name(&block["name"]), block["input"].clone()))
            .collect(),
    }
}

#[test]
fn every_valid_call_arrives_as_it_was_meant() {
    let Some(folder) = installed("bfcl").map(PathBuf::from) else {
        return;
    };
    let (mut all, mut valid) = (0, 0);
    for category in CATEGORIES {
        for case in cases(&folder, category) {
            let tools = case.functions.iter().map(|function| {
                let name = function["name"].as_str().expect("a name");
                Tool::function(name, "", schema(&function["parameters"]))
            });
            let tools = Toolset::new(tools.collect());
            let tools = Arc::new(tools.unwrap_or_else(|error| panic!("{}: {error}", case.id)));
            assert_eq!(tools.unchecked(), [] as [String; 0], "{}", case.id);
            let client = Client::new(Api::Chat);
            let secrets = client.secrets();
            let writer = Writer {
                markers: &secrets.markers,
                anchoring: Anchoring::LineStart,
            };
            all += case.calls.len();
            let fits = |(name, input): &&(String, Value)| {
                let gadget = tools
                    .block_name(name)
                    .and_then(|name| tools.registry().get(name));
                gadget.is_some_and(|gadget| gadget.check(input.clone()).is_ok())
            };
            let calls: Vec<(String, Value)> = case.calls.iter().filter(fits).cloned().collect();
            valid += calls.len();
            let mut text = String::from("I call.\n");
            for (at, (name, input)) in calls.iter().enumerate() {
                let name = tools.block_name(name).expect("it fits");
                let schema = tools.registry().get(name).map(RegisteredGadget::schema);
                let id = format!("c{at}");
                writer
                    .write(&mut text, name, Some(&id), &[""; 0], input, schema)
                    .expect("it can be written");
            }
            for api in Api::ALL {
                let got = received(api, &client, &tools, &case.functions, &text);
                assert_eq!(got, calls, "{} {api:?}: {text}", case.id);
            }
        }
    }
    assert_eq!(
        (all, valid > 3_100),
        (3_302, true),
        "{valid} of {all} calls fit their schemas"
    );
}
