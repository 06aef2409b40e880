//! The grammar of the block format, next to the parser and the writer.

use gadgetry::proto::block::{Anchoring, Writer};
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::schema::RegisteredGadget;
use gadgetry_gateway::Api;
use gadgetry_gateway::exchange::{Progress, Tool, Toolset};
use gadgetry_gateway::grammar;
use serde_json::{Map, Value, json};

use crate::bfcl::{CATEGORIES, cases, schema};
use crate::support::exchanges::{Client, Received, end};
use crate::support::gbnf::Grammar;
use crate::support::installed;

/// The parameters in the order of the schema, which a grammar demands.
fn ordered(input: &Value, schema: &Value) -> Value {
    let (Some(input), Some(properties)) = (input.as_object(), schema["properties"].as_object())
    else {
        return input.clone();
    };
    let known = properties
        .keys()
        .filter_map(|name| Some((name.clone(), input.get(name)?.clone())));
    Value::Object(known.collect::<Map<_, _>>())
}

#[test]
fn it_admits_written_calls() {
    let Some(folder) = installed("bfcl") else {
        return;
    };
    let client = Client::new(Api::Chat);
    let markers = client.secrets().markers;
    let writer = Writer {
        markers: &markers,
        anchoring: Anchoring::LineStart,
    };
    let (mut admitted, mut refused) = (0, Vec::new());
    for category in CATEGORIES {
        for case in cases(folder.as_ref(), category) {
            for (name, input) in &case.calls {
                let function = case.functions.iter().find(|it| it["name"] == name.as_str());
                let Some(function) = function else { continue };
                let schema = schema(&function["parameters"]);
                let tools = Toolset::new(vec![Tool::function(name.as_str(), "", schema.clone())])
                    .expect("the schemas are valid");
                let block_name = tools.block_name(name).expect("it is there");
                let gadget = tools.registry().get(block_name).expect("it is there");
                let input = ordered(input, &schema);
                if gadget.check(input.clone()).is_err() {
                    continue;
                }
                let mut text = String::from("I call.\n");
                let compiled = Some(RegisteredGadget::schema(gadget));
                writer
                    .write(
                        &mut text,
                        block_name,
                        Some("c1"),
                        &[""; 0],
                        &input,
                        compiled,
                    )
                    .expect("it can be written");
                let grammar = Grammar::new(&grammar::of(&tools, &markers));
                if grammar.admits(&text) {
                    admitted += 1;
                } else {
                    refused.push(format!("{}: {text}", case.id));
                }
            }
        }
    }
    assert!(
        admitted >= 3_000,
        "{admitted} are admitted, and not these: {}",
        refused.join("\n")
    );
}

#[test]
fn what_it_admits_is_valid() {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "share": {"type": "number"},
            "is_new": {"type": "boolean"},
            "color": {"enum": ["red", "dark \"blue\"", 3]},
        },
        "required": ["text", "count", "color"],
    });
    let tools = [
        json!({"type": "function", "function": {"name": "paint", "parameters": schema}}),
        json!({"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}}),
    ];
    let body =
        json!({"model": "m", "messages": [{"role": "user", "content": "?"}], "tools": tools});
    let client = Client::new(Api::Chat);
    let request = Api::Chat.decode(body.clone()).expect("a valid request");
    let markers = client.secrets().markers;
    let text = grammar::of(
        &Toolset::new(request.tools).expect("valid schemas"),
        &markers,
    );
    let grammar = Grammar::new(&text);
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let mut calls = 0;
    for _ in 0..2_000 {
        let text = grammar.text(&mut random);
        assert!(grammar.admits(&text), "{text}");
        let mut exchange = client.exchange(body.clone(), 1);
        let mut out = Vec::new();
        exchange.push(Delta::text(&text), &mut out);
        assert_eq!(
            end(&mut exchange, StopReason::Stop, &mut out),
            Progress::Done,
            "{text}"
        );
        let received = Received::of(&out);
        assert_eq!(
            received.calls.len(),
            text.matches(markers.start()).count(),
            "{text}"
        );
        calls += received.calls.len();
    }
    assert!(calls > 500, "{calls}");
}

#[test]
fn it_refuses_what_no_parser_takes() {
    let schema = json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let tools = Toolset::new(vec![Tool::function("add", "", schema)]).expect("valid schemas");
    let client = Client::new(Api::Chat);
    let grammar = Grammar::new(&grammar::of(&tools, &client.secrets().markers));
    let check = |text: &str, is_admitted: bool| {
        assert_eq!(grammar.admits(&client.written(text)), is_admitted, "{text}");
    };
    check("", true);
    check("Hello.\n\nWorld", true);
    check("{S}add:a\n{A}n\n1\n{E}\n", true);
    check("Text\n{S}add:a\n{A}n\n-12\n{E}\nText", true);
    check("{S}add:a\n{E}\n", false);
    check("{S}add:a\n{A}n\none\n{E}\n", false);
    check("{S}sub:a\n{A}n\n1\n{E}\n", false);
    check("{S}add\n{A}n\n1\n{E}\n", false);
    check("{S}add:a\n{A}n\n1\n", false);
    check("!!!GADGET_START:add:a\n", false);
}
