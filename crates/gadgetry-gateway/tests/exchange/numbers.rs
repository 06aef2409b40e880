//! Numbers reach the client with the digits that the model wrote.

use gadgetry_gateway::ClientApi;
use gadgetry_gateway::server::json_document;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::dialect::Dialects;
use serde_json::{Value, json};

use crate::support::exchanges::{Client, end, feed, texts};

const NUMBERS: &str = r#"{"n":0.1000000000000000055,"m":123456789012345678901234567890,"all":[1.0,{"of":9007199254740993.25}]}"#;

/// The forms in which a model writes the call; none is one of the upstream's own interface.
const FORMS: [Option<&str>; 5] = [
    Some(
        "{S}Calc\n{A}n\n0.1000000000000000055\n{A}m\n123456789012345678901234567890\n{A}all\n[1.0, {\"of\": 9007199254740993.25}]\n{E}",
    ),
    Some("{S}Calc\n{NUMBERS}\n{E}"),
    Some("<tool_call>\n{\"name\": \"Calc\", \"arguments\": {NUMBERS}}\n</tool_call>"),
    Some("```json\n{\"name\": \"Calc\", \"arguments\": {NUMBERS}}\n```"),
    None,
];

fn body(api: ClientApi) -> Value {
    let of = json!({"type": "array", "items": {"properties": {"of": {"type": "number"}}}});
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "number"}, "m": {"type": "integer"}, "all": of},
    });
    let messages = json!([{"role": "user", "content": "Hi"}]);
    match api {
        ClientApi::Chat => json!({
            "model": "m",
            "messages": messages,
            "tools": [{"type": "function", "function": {"name": "Calc", "parameters": schema}}],
        }),
        ClientApi::Responses => json!({
            "model": "m",
            "input": "Hi",
            "tools": [{"type": "function", "name": "Calc", "parameters": schema}],
        }),
        ClientApi::Messages => json!({
            "model": "m",
            "max_tokens": 100,
            "messages": messages,
            "tools": [{"name": "Calc", "input_schema": schema}],
        }),
    }
}

/// The deltas that the client gets for a call in a form.
fn received(api: ClientApi, form: Option<&str>) -> Vec<Delta> {
    let mut client = Client::new(api);
    client.rules.dialects = Dialects::all();
    client.is_native = form.is_none();
    let mut exchange = client.exchange(body(api), 1);
    let mut out = Vec::new();
    if let Some(form) = form {
        let reply = client.written(&form.replace("{NUMBERS}", NUMBERS));
        feed(&mut exchange, &reply, 7, &mut out);
        return out;
    }
    let (id, name) = ("x".to_owned(), "Calc".to_owned());
    let call = [
        Delta::MessageStart { model: None },
        Delta::ToolCallStart {
            id: id.clone(),
            name,
        },
        Delta::ToolCallDelta {
            id: id.clone(),
            delta: NUMBERS.to_owned(),
        },
        Delta::ToolCallEnd { id, input: None },
    ];
    for delta in call {
        exchange.push(delta, &mut out);
    }
    end(&mut exchange, StopReason::ToolUse, &mut out);
    out
}

#[test]
fn a_call_has_the_digits_that_were_written() {
    for api in [ClientApi::Chat, ClientApi::Responses, ClientApi::Messages] {
        for form in FORMS {
            let request = api.decode(body(api)).expect("a valid request");
            let mut encoder = api.encoder(&request, "1", 0);
            let mut frames = Vec::new();
            for delta in received(api, form) {
                encoder.delta(delta, &mut frames);
            }
            let json = encoder.json();
            let document = encoder.document();
            let arguments = match api {
                ClientApi::Chat => {
                    &document["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
                }
                ClientApi::Responses => &document["output"][0]["arguments"],
                ClientApi::Messages => &Value::Null,
            };
            if api == ClientApi::Messages {
                assert!(
                    json.contains(&format!("\"input\":{NUMBERS}")),
                    "{form:?}: {json}"
                );
            } else {
                assert_eq!(arguments, NUMBERS, "{api:?} {form:?}");
            }
            let escaped = Value::from(NUMBERS).to_string();
            let escaped = escaped.trim_matches('"');
            let is_streamed = frames.iter().any(|frame| frame.data.contains(escaped));
            assert!(is_streamed, "{api:?} {form:?}: {frames:?}");
        }
    }
}

#[test]
fn an_earlier_call_is_shown_with_the_digits_that_were_written() {
    let tool_call =
        json!({"id": "x", "type": "function", "function": {"name": "Calc", "arguments": NUMBERS}});
    for api in [ClientApi::Chat, ClientApi::Responses, ClientApi::Messages] {
        let mut body = body(api);
        let turns = match api {
            ClientApi::Chat => json!([
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": null, "tool_calls": [tool_call]},
                {"role": "tool", "tool_call_id": "x", "content": "Done."},
            ]),
            ClientApi::Responses => json!([
                {"role": "user", "content": "Hi"},
                {"type": "function_call", "call_id": "x", "name": "Calc", "arguments": NUMBERS},
                {"type": "function_call_output", "call_id": "x", "output": "Done."},
            ]),
            ClientApi::Messages => json!([
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "Calc", "input": "NUMBERS"}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "Done."}]},
            ]),
        };
        let key = if api == ClientApi::Responses {
            "input"
        } else {
            "messages"
        };
        body[key] = turns;
        // As an object, the numbers are in the text of the body alone.
        let body = body.to_string().replace("\"NUMBERS\"", NUMBERS);
        let body = json_document(body.as_bytes()).expect("JSON");
        let request = Client::new(api).exchange(body, 1).request();
        let shown = texts(&request).join("\n");
        for digits in [
            "0.1000000000000000055",
            "123456789012345678901234567890",
            "9007199254740993.25",
        ] {
            assert!(shown.contains(digits), "{api:?} {digits}: {shown}");
        }
    }
}
