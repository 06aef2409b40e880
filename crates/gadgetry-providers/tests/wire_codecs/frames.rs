//! The frames of each API, as its documentation has them: clients rely on more of them than our decoders do.

use gadgetry_proto::delta::{ContentMetadata, Delta, StopReason};
use gadgetry_proto::usage::Usage;
use serde_json::{Map, Value, json};

use super::replies::{Api, encoder};

fn about(
    citations: Vec<Value>,
    annotations: Vec<Value>,
    extensions: Map<String, Value>,
) -> ContentMetadata {
    ContentMetadata {
        citations,
        annotations,
        extensions,
        ..ContentMetadata::default()
    }
}

/// A thought, a text with what is known about it, a whole call and one that the token limit has cut.
fn deltas() -> Vec<Delta> {
    let start = |id: &str| Delta::ToolCallStart {
        id: id.to_owned(),
        name: "f".to_owned(),
    };
    let piece = |id: &str, delta: &str| Delta::ToolCallDelta {
        id: id.to_owned(),
        delta: delta.to_owned(),
    };
    let signature = Map::from_iter([("signature".to_owned(), json!("SIG"))]);
    vec![
        Delta::MessageStart {
            model: Some("m".to_owned()),
        },
        Delta::Reasoning {
            delta: "hm".to_owned(),
            metadata: None,
        },
        Delta::ReasoningMetadata {
            metadata: about(vec![], vec![], signature),
        },
        Delta::text("H"),
        Delta::text("i"),
        Delta::ContentMetadata {
            metadata: about(
                vec![json!({"cited": 1})],
                vec![json!({"url": "u"}), json!({"url": "v"})],
                Map::new(),
            ),
        },
        start("a"),
        piece("a", "{\"x\""),
        piece("a", ":1}"),
        Delta::ToolCallEnd {
            id: "a".to_owned(),
            input: None,
        },
        Delta::text("Yo"),
        Delta::ContentMetadata {
            metadata: about(vec![], vec![json!({"url": "w"})], Map::new()),
        },
        start("b"),
        piece("b", "{"),
        Delta::MessageEnd {
            stop_reason: StopReason::MaxTokens,
            usage: Some(
                Usage::default()
                    .input_tokens(10)
                    .output_tokens(5)
                    .total_tokens(15),
            ),
        },
    ]
}

/// Chunks of Chat Completions.
const CHAT: [&str; 15] = [
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"H"},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"i"},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"annotations":[{"url":"u"},{"url":"v"}]},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"Yo"},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"annotations":[{"url":"w"}]},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{"}}]},"finish_reason":null}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
    r#"{"id":"c1","object":"chat.completion.chunk","created":7,"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}"#,
    "[DONE]",
];

/// Events of the Messages API.
const MESSAGES: [&str; 21] = [
    r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SIG"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"H"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"i"}}"#,
    r#"{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"cited":1}}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":":1}"}}"#,
    r#"{"type":"content_block_stop","index":2}"#,
    r#"{"type":"content_block_start","index":3,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"Yo"}}"#,
    r#"{"type":"content_block_stop","index":3}"#,
    r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"b","name":"f","input":{}}}"#,
    r#"{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{"}}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"input_tokens":10,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":5,"output_tokens_details":{"thinking_tokens":0}}}"#,
    r#"{"type":"message_stop"}"#,
];

/// Events of the Responses API.
const RESPONSES: [&str; 33] = [
    r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":7,"status":"in_progress","model":"m","error":null,"incomplete_details":null,"output":[],"usage":null,"instructions":null,"metadata":{},"parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null}}"#,
    r#"{"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","object":"response","created_at":7,"status":"in_progress","model":"m","error":null,"incomplete_details":null,"output":[],"usage":null,"instructions":null,"metadata":{},"parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null}}"#,
    r#"{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"rs_1_0","type":"reasoning","summary":[]}}"#,
    r#"{"type":"response.reasoning_summary_part.added","sequence_number":3,"item_id":"rs_1_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}"#,
    r#"{"type":"response.reasoning_summary_text.delta","sequence_number":4,"item_id":"rs_1_0","output_index":0,"summary_index":0,"delta":"hm"}"#,
    r#"{"type":"response.reasoning_summary_text.done","sequence_number":5,"item_id":"rs_1_0","output_index":0,"summary_index":0,"text":"hm"}"#,
    r#"{"type":"response.reasoning_summary_part.done","sequence_number":6,"item_id":"rs_1_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"hm"}}"#,
    r#"{"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"rs_1_0","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}}"#,
    r#"{"type":"response.output_item.added","sequence_number":8,"output_index":1,"item":{"id":"msg_1_1","type":"message","status":"in_progress","role":"assistant","content":[]}}"#,
    r#"{"type":"response.content_part.added","sequence_number":9,"item_id":"msg_1_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}"#,
    r#"{"type":"response.output_text.delta","sequence_number":10,"item_id":"msg_1_1","output_index":1,"content_index":0,"delta":"H"}"#,
    r#"{"type":"response.output_text.delta","sequence_number":11,"item_id":"msg_1_1","output_index":1,"content_index":0,"delta":"i"}"#,
    r#"{"type":"response.output_text.annotation.added","sequence_number":12,"item_id":"msg_1_1","output_index":1,"content_index":0,"annotation_index":0,"annotation":{"url":"u"}}"#,
    r#"{"type":"response.output_text.annotation.added","sequence_number":13,"item_id":"msg_1_1","output_index":1,"content_index":0,"annotation_index":1,"annotation":{"url":"v"}}"#,
    r#"{"type":"response.output_text.done","sequence_number":14,"item_id":"msg_1_1","output_index":1,"content_index":0,"text":"Hi"}"#,
    r#"{"type":"response.content_part.done","sequence_number":15,"item_id":"msg_1_1","output_index":1,"content_index":0,"part":{"type":"output_text","text":"Hi","annotations":[{"url":"u"},{"url":"v"}]}}"#,
    r#"{"type":"response.output_item.done","sequence_number":16,"output_index":1,"item":{"id":"msg_1_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[{"url":"u"},{"url":"v"}]}]}}"#,
    r#"{"type":"response.output_item.added","sequence_number":17,"output_index":2,"item":{"id":"fc_1_2","type":"function_call","status":"in_progress","call_id":"a","name":"f","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","sequence_number":18,"item_id":"fc_1_2","output_index":2,"delta":"{\"x\""}"#,
    r#"{"type":"response.function_call_arguments.delta","sequence_number":19,"item_id":"fc_1_2","output_index":2,"delta":":1}"}"#,
    r#"{"type":"response.function_call_arguments.done","sequence_number":20,"item_id":"fc_1_2","output_index":2,"arguments":"{\"x\":1}"}"#,
    r#"{"type":"response.output_item.done","sequence_number":21,"output_index":2,"item":{"id":"fc_1_2","type":"function_call","status":"completed","call_id":"a","name":"f","arguments":"{\"x\":1}"}}"#,
    r#"{"type":"response.output_item.added","sequence_number":22,"output_index":3,"item":{"id":"msg_1_3","type":"message","status":"in_progress","role":"assistant","content":[]}}"#,
    r#"{"type":"response.content_part.added","sequence_number":23,"item_id":"msg_1_3","output_index":3,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}}"#,
    r#"{"type":"response.output_text.delta","sequence_number":24,"item_id":"msg_1_3","output_index":3,"content_index":0,"delta":"Yo"}"#,
    r#"{"type":"response.output_text.annotation.added","sequence_number":25,"item_id":"msg_1_3","output_index":3,"content_index":0,"annotation_index":0,"annotation":{"url":"w"}}"#,
    r#"{"type":"response.output_text.done","sequence_number":26,"item_id":"msg_1_3","output_index":3,"content_index":0,"text":"Yo"}"#,
    r#"{"type":"response.content_part.done","sequence_number":27,"item_id":"msg_1_3","output_index":3,"content_index":0,"part":{"type":"output_text","text":"Yo","annotations":[{"url":"w"}]}}"#,
    r#"{"type":"response.output_item.done","sequence_number":28,"output_index":3,"item":{"id":"msg_1_3","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Yo","annotations":[{"url":"w"}]}]}}"#,
    r#"{"type":"response.output_item.added","sequence_number":29,"output_index":4,"item":{"id":"fc_1_4","type":"function_call","status":"in_progress","call_id":"b","name":"f","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","sequence_number":30,"item_id":"fc_1_4","output_index":4,"delta":"{"}"#,
    r#"{"type":"response.output_item.done","sequence_number":31,"output_index":4,"item":{"id":"fc_1_4","type":"function_call","status":"incomplete","call_id":"b","name":"f","arguments":"{"}}"#,
    r#"{"type":"response.incomplete","sequence_number":32,"response":{"id":"resp_1","object":"response","created_at":7,"status":"incomplete","model":"m","error":null,"incomplete_details":{"reason":"max_output_tokens"},"output":[{"id":"rs_1_0","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},{"id":"msg_1_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi","annotations":[{"url":"u"},{"url":"v"}]}]},{"id":"fc_1_2","type":"function_call","status":"completed","call_id":"a","name":"f","arguments":"{\"x\":1}"},{"id":"msg_1_3","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Yo","annotations":[{"url":"w"}]}]},{"id":"fc_1_4","type":"function_call","status":"incomplete","call_id":"b","name":"f","arguments":"{"}],"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":15},"instructions":null,"metadata":{},"parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null}}"#,
];

/// Holds the frames against `expected`, and the names of their events against `name`, which has the data.
fn check(api: Api, expected: &[&str], name: fn(&Value) -> Option<&str>) {
    let mut encoder = encoder(api);
    let mut frames = Vec::new();
    for delta in deltas() {
        encoder.delta(&delta, &mut frames);
    }
    let value = |data: &str| serde_json::from_str::<Value>(data).unwrap_or_else(|_| data.into());
    for (at, (frame, expected)) in frames.iter().zip(expected).enumerate() {
        let data = value(&frame.data);
        assert_eq!(data, value(expected), "{api:?}, {at}");
        assert_eq!(frame.event.as_deref(), name(&data), "{api:?}, {at}");
    }
    assert_eq!(frames.len(), expected.len(), "{api:?}");
}

#[test]
fn frames_of_each_api() {
    check(Api::Chat, &CHAT, |_| None);
    check(Api::Messages, &MESSAGES, |data| data["type"].as_str());
    check(Api::Responses, &RESPONSES, |data| data["type"].as_str());
}
