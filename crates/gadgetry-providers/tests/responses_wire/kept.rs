//! Encrypted reasoning is in the next request, as it came, for the model that it came from.

use gadgetry_proto::schema::GadgetSpec;
use gadgetry_providers::OpenAiResponses;
use serde_json::{Value, json};

use crate::support::turns::{message, next};

fn wire(model: &str, native: bool) -> OpenAiResponses {
    let spec = GadgetSpec {
        name: "f".to_owned(),
        ..GadgetSpec::default()
    };
    let model = OpenAiResponses::builder(model);
    model.tools(native.then_some(spec)).build().unwrap()
}

const REASONING: &str = r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","status":"completed","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"SECRET=="}}"#;
const OPEN: &str = r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}}"#;
const TEXT: &str = r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Now."}]}}"#;
const MORE: &str = r#"{"type":"response.output_item.done","output_index":2,"item":{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"SECRET2="}}"#;
const CALL: &str = r#"{"type":"response.output_item.done","output_index":3,"item":{"id":"fc_1","type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}}"#;
const END: &str = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;

fn stream(frames: &[&str]) -> String {
    let mut stream = String::new();
    for frame in frames {
        stream.extend(["data: ", frame, "\n\n"]);
    }
    stream
}

/// The items of the reply in the next request, between the question and the results.
fn items(body: &Value) -> Vec<Value> {
    let items = body["input"].as_array().unwrap().iter().skip(1);
    let results = |item: &&Value| item["type"] != "function_call_output";
    items.take_while(results).cloned().collect()
}

#[test]
fn reasoning_goes_back_in_its_place() {
    let reasoning = json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "SECRET=="});
    let more =
        json!({"id": "rs_2", "type": "reasoning", "summary": [], "encrypted_content": "SECRET2="});
    let text = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Now."}]});
    let call =
        json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{\"x\":1}"});
    let cases = [
        (
            "reasoning, text, more reasoning and a call",
            vec![REASONING, TEXT, MORE, CALL, END],
            vec!["a"],
            vec![&reasoning, &text, &more, &call],
        ),
        (
            "reasoning and a call",
            vec![REASONING, CALL, END],
            vec!["a"],
            vec![&reasoning, &call],
        ),
        (
            "reasoning and text",
            vec![REASONING, TEXT, END],
            vec![],
            vec![&reasoning, &text],
        ),
        // The API refuses reasoning that nothing follows.
        ("reasoning alone", vec![REASONING, END], vec![], vec![]),
        (
            "reasoning after the text",
            vec![REASONING, TEXT, MORE, END],
            vec![],
            vec![&reasoning, &more, &text],
        ),
        // Without its content it means nothing, because nothing is stored.
        (
            "reasoning that is not encrypted",
            vec![OPEN, CALL, END],
            vec!["a"],
            vec![&call],
        ),
        (
            "cut off after the call",
            vec![REASONING, CALL],
            vec!["a"],
            vec![&reasoning, &call],
        ),
    ];
    for (name, frames, ids, expected) in cases {
        let native = wire("m", true);
        for size in [1, 7, usize::MAX] {
            let reply = message(native.wire(), &stream(&frames), size);
            let sent = next(native.wire(), reply, &ids);
            let sent = items(&sent);
            assert_eq!(sent.iter().collect::<Vec<_>>(), expected, "{name}, {size}");
        }
        let reply = || message(native.wire(), &stream(&frames), 99);
        let text = wire("m", false);
        let as_text = message(text.wire(), &stream(&frames), 99);
        for other in [
            next(wire("n", true).wire(), reply(), &ids),
            next(text.wire(), as_text, &ids),
        ] {
            assert!(!other.to_string().contains("SECRET"), "{name}: {other}");
        }
    }
}
