//! Every ground-truth call of the Berkeley Function Calling Leaderboard: written by a text model, received through each API.
//!
//! A call whose parameters do not fit its own schema is left out, which about one in twenty does not.

#[path = "../../gadgetry-proto/tests/support/bfcl.rs"]
mod data;

use std::path::PathBuf;
use std::sync::Arc;

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::exchange::{ExchangeStep, Tool, Toolset};
use gadgetry_proto::block::{Anchoring, Writer};
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::schema::RegisteredGadget;
use serde_json::{Value, json};

use crate::support::exchanges::{Client, end};
use crate::support::installed;
use data::{CATEGORIES, cases, schema};

/// The calls that a client of an API receives, as that API writes them.
fn received(
    api: ClientApi,
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
        ExchangeStep::Done,
        "{text}"
    );
    for delta in out {
        encoder.delta(delta, &mut Vec::new());
    }
    calls_of(api, &encoder.document())
}

/// A request with these functions.
fn body(api: ClientApi, functions: &[Value]) -> Value {
    let tools = functions.iter().map(|function| {
        let (name, schema) = (&function["name"], schema(&function["parameters"]));
        match api {
            ClientApi::Chat => {
                json!({"type": "function", "function": {"name": name, "parameters": schema}})
            }
            ClientApi::Responses => json!({"type": "function", "name": name, "parameters": schema}),
            ClientApi::Messages => json!({"name": name, "input_schema": schema}),
        }
    });
    let tools: Value = tools.collect();
    match api {
        ClientApi::Chat | ClientApi::Messages => {
            json!({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "?"}], "tools": tools})
        }
        ClientApi::Responses => json!({"model": "m", "input": "?", "tools": tools}),
    }
}

/// Names and arguments of the calls in a document.
fn calls_of(api: ClientApi, document: &Value) -> Vec<(String, Value)> {
    let parsed = |json: &Value| serde_json::from_str(json.as_str().expect("a text")).expect("JSON");
    let name = |value: &Value| value.as_str().expect("a name").to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match api {
        ClientApi::Chat => list(&document["choices"][0]["message"]["tool_calls"])
            .iter()
            .map(|call| {
                (
                    name(&call["function"]["name"]),
                    parsed(&call["function"]["arguments"]),
                )
            })
            .collect(),
        ClientApi::Responses => list(&document["output"])
            .iter()
            .filter(|item| item["type"] == "function_call")
            .map(|item| (name(&item["name"]), parsed(&item["arguments"])))
            .collect(),
        ClientApi::Messages => list(&document["content"])
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
            let client = Client::new(ClientApi::Chat);
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
            for api in ClientApi::ALL {
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
