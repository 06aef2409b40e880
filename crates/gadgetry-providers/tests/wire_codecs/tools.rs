//! An API with tools. They have the names that the API takes, and calls have those of the gadgets again.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Request;
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::openai::OpenAiResponses;
use gadgetry_providers::{Anthropic, OpenAi, ResponseDecoder, Wire};
use serde_json::{Value, json};

use super::requests::body;

/// `tool` is what is sent for a gadget, and `reply` a whole reply that calls it.
fn check(wire: &impl Wire, tool: &Value, reply: &Value) {
    let gadget = GadgetSpec {
        name: "look.up".to_owned(),
        description: "Looks up".to_owned(),
        ..GadgetSpec::default()
    };
    let sent = |wire: &_| body(&Wire::request(wire, &Request::default()).unwrap());
    assert_eq!(sent(wire).get("tools"), None);
    let wire = wire.with_tools(&[gadget]).unwrap();
    assert_eq!(sent(&wire)["tools"], json!([tool]));
    let mut answer = ResponseDecoder::new(wire.decoder());
    let mut deltas = Vec::new();
    answer.feed(reply.to_string().as_bytes(), &mut deltas);
    answer.end(None, &mut deltas);
    let start = Delta::ToolCallStart {
        id: "a".to_owned(),
        name: "look.up".to_owned(),
    };
    assert!(deltas.contains(&start), "{deltas:?}");
}

#[test]
fn names_of_tools() {
    let schema = json!({"type": "object"});
    check(
        OpenAi::builder("m").build().unwrap().wire(),
        &json!({"type": "function", "function": {"name": "look_up", "description": "Looks up", "parameters": schema}}),
        &json!({"choices": [{"message": {"tool_calls": [{"id": "a", "function": {"name": "look_up", "arguments": "{}"}}]}}]}),
    );
    check(
        Anthropic::builder("m").build().unwrap().wire(),
        &json!({"name": "look_up", "description": "Looks up", "input_schema": schema}),
        &json!({"content": [{"type": "tool_use", "id": "a", "name": "look_up", "input": {}}]}),
    );
    check(
        OpenAiResponses::builder("m").build().unwrap().wire(),
        &json!({"type": "function", "name": "look_up", "description": "Looks up", "parameters": schema, "strict": false}),
        &json!({"output": [{"type": "function_call", "call_id": "a", "name": "look_up", "arguments": "{}"}]}),
    );
}
