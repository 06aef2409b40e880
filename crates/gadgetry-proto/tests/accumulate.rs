//! The accumulator's rules, one by one. Those that hold for every stream are in `accumulate_properties.rs`.

use gadgetry_proto::accumulate::AccumulatedReply;
use gadgetry_proto::accumulate::Accumulator;
use gadgetry_proto::delta::Delta;
use serde_json::Value;
use serde_json::json;

use crate::support::stream;

/// Accumulates deltas given as JSON; the events come back as JSON too.
fn accumulate(deltas: Value) -> (Vec<Value>, AccumulatedReply) {
    let deltas: Vec<Delta> = serde_json::from_value(deltas).expect("deltas of the vocabulary");
    stream::accumulate(None, &deltas)
}

/// The types of the events, with their block index.
fn outline(events: &[Value]) -> Vec<String> {
    let line = |event: &Value| {
        let kind = event["type"].as_str().expect("a type");
        match event.get("blockIndex") {
            Some(index) => format!("{kind} {index}"),
            None => kind.to_owned(),
        }
    };
    events.iter().map(line).collect()
}

fn check_content(deltas: Value, expected: &Value) {
    let (_, output) = accumulate(deltas);
    let content = serde_json::to_value(output.message.content).expect("content is JSON");
    assert_eq!(&content, expected);
}

#[test]
fn blocks_are_listed_in_the_order_in_which_they_began() {
    let call = json!({
        "type": "gadget_call", "gadgetName": "g", "invocationId": "i", "dependencies": [],
        "parametersRaw": "", "parameters": {"n": 18_446_744_073_709_551_615_u64},
        "terminatedBy": "endMarker", "span": {"start": 0, "end": 9},
    });
    let block = json!({"type": "custom_block", "blockId": "block_1", "tag": "note", "content": "n", "attrs": {}});
    let (events, output) = accumulate(json!([
        {"type": "reasoning", "delta": "hm"},
        {"type": "tool_call_start", "id": "t", "name": "f"},
        {"type": "text", "delta": "a"},
        {"type": "custom_block_start", "blockId": "block_1", "tag": "note", "attrs": {}},
        {"type": "custom_block_delta", "blockId": "block_1", "tag": "note", "delta": "n"},
        {"type": "custom_block_end", "blockId": "block_1", "tag": "note", "reason": "closed"},
        block,
        {"type": "gadget_call_start", "gadgetName": "g", "invocationId": "i", "dependencies": []},
        {"type": "gadget_args_partial", "gadgetName": "g", "invocationId": "i", "fieldPath": "n", "delta": "1", "isFieldComplete": true},
        call,
        {"type": "text", "delta": "b"},
        {"type": "tool_call_delta", "id": "t", "delta": "{\"k\":1}"},
        {"type": "message_end", "stopReason": "tool_use"},
    ]));
    assert_eq!(
        outline(&events),
        [
            "message_start",
            "reasoning_start 0",
            "reasoning_delta 0",
            "reasoning_end 0",
            "reasoning 0",
            "tool_call_start 1",
            "content_start 2",
            "content_delta 2",
            "content_end 2",
            "content 2",
            "custom_block_start 3",
            "custom_block_delta 3",
            "custom_block_end 3",
            "custom_block 3",
            "gadget_call_start 4",
            "gadget_args_partial 4",
            "gadget_call 4",
            "content_start 5",
            "content_delta 5",
            "tool_call_delta 1",
            "content_end 5",
            "content 5",
            "tool_call_end 1",
            "tool_call 1",
            "message_end",
        ]
    );
    let custom =
        json!({"type": "custom", "blockId": "block_1", "tag": "note", "content": "n", "attrs": {}});
    assert_eq!(
        serde_json::to_value(&output.message.content).expect("content is JSON"),
        json!([
            {"type": "reasoning", "text": "hm"},
            {"type": "tool_use", "toolUseId": "t", "name": "f", "input": {"k": 1}},
            {"type": "text", "text": "a"},
            custom,
            call,
            {"type": "text", "text": "b"},
        ])
    );
    assert!(output.message.content[3].is_custom_block());
}

#[test]
fn reasoning_and_text_end_each_other() {
    let (events, _) = accumulate(json!([
        {"type": "reasoning", "delta": "r"},
        {"type": "text", "delta": "t"},
        {"type": "reasoning", "delta": "s"},
    ]));
    assert_eq!(
        outline(&events)[1..9],
        [
            "reasoning_start 0",
            "reasoning_delta 0",
            "reasoning_end 0",
            "reasoning 0",
            "content_start 1",
            "content_delta 1",
            "content_end 1",
            "content 1",
        ]
    );
}

#[test]
fn an_empty_stream_is_an_empty_message() {
    let (events, output) = accumulate(json!([{"type": "text", "delta": ""}]));
    assert_eq!(outline(&events), ["message_start", "message_end"]);
    assert!(output.message.content.is_empty());
    assert_eq!(output.stop_reason, None);
}

#[test]
fn deltas_after_the_end_of_the_message_belong_to_it() {
    let (events, output) = accumulate(json!([
        {"type": "text", "delta": "a"},
        {"type": "message_end", "stopReason": "stop", "usage": {"inputTokens": 3}},
        {"type": "text", "delta": "b"},
        {"type": "usage", "usage": {"outputTokens": 5}},
        {"type": "message_end", "stopReason": "error", "usage": {"inputTokens": 2, "totalTokens": 9}},
    ]));
    let usage = json!({"inputTokens": 3, "outputTokens": 5, "totalTokens": 9});
    // A later cut counts, too.
    let end = json!({"type": "message_end", "stopReason": "error", "usage": usage});
    assert_eq!(events.last(), Some(&end));
    assert_eq!(output.message.content.len(), 1);
}

#[test]
fn a_broken_off_stream_keeps_everything() {
    let (events, output) = accumulate(json!([
        {"type": "tool_call_start", "id": "z", "name": "f"},
        {"type": "tool_call_start", "id": "a", "name": "g"},
        {"type": "tool_call_delta", "id": "z", "delta": "{\"k\":"},
        {"type": "text", "delta": "x"},
    ]));
    assert_eq!(
        outline(&events)[6..],
        [
            "content_end 2",
            "content 2",
            "tool_call_end 0",
            "error",
            "tool_call 0",
            "tool_call_end 1",
            "tool_call 1",
            "message_end",
        ]
    );
    assert_eq!(events.last().expect("an end").get("stopReason"), None);
    assert_eq!(output.message.content.len(), 3);
}

#[test]
fn tool_input_that_is_not_json_stays_text_and_is_reported() {
    let (events, output) = accumulate(json!([
        {"type": "tool_call_start", "id": "t", "name": "f"},
        {"type": "tool_call_delta", "id": "t", "delta": "{oops"},
        {"type": "tool_call_end", "id": "t"},
    ]));
    assert_eq!(events[5]["input"], "{oops");
    assert_eq!(events[4]["error"]["code"], "invalid_tool_input");
    let message = &output.errors[0].message;
    assert!(
        message.starts_with("The model wrote invalid JSON as the input of f: "),
        "{message}"
    );
}

#[test]
fn tool_input_may_be_absent_or_given_whole() {
    let start = json!({"type": "tool_call_start", "id": "t", "name": "f"});
    let tool =
        |input: Value| json!([{"type": "tool_use", "toolUseId": "t", "name": "f", "input": input}]);
    check_content(
        json!([start, {"type": "tool_call_end", "id": "t"}]),
        &tool(json!({})),
    );
    check_content(
        json!([start, {"type": "tool_call_delta", "id": "t", "delta": " \n"}]),
        &tool(json!({})),
    );
    check_content(
        json!([start, {"type": "tool_call_delta", "id": "t", "delta": "1"}, {"type": "tool_call_end", "id": "t", "input": [2]}]),
        &tool(json!([2])),
    );
    check_content(
        json!([start, {"type": "tool_call", "id": "t", "name": "f", "input": {"k": 1}}]),
        &tool(json!({"k": 1})),
    );
}

#[test]
fn a_repeated_start_changes_nothing() {
    let (events, output) = accumulate(json!([
        {"type": "tool_call_start", "id": "t", "name": "f"},
        {"type": "tool_call_delta", "id": "t", "delta": "["},
        {"type": "tool_call_start", "id": "t", "name": "f"},
        {"type": "tool_call_delta", "id": "t", "delta": "]"},
    ]));
    assert_eq!(events.len(), 7);
    assert!(output.errors.is_empty());
}

#[test]
fn metadata_joins_and_stays_with_its_text() {
    let (events, output) = accumulate(json!([
        {"type": "content_metadata", "metadata": {"citations": [1], "language": "de", "extensions": {"a": 1, "b": 1}}},
        {"type": "reasoning", "delta": "r"},
        {"type": "reasoning_metadata", "metadata": {"extensions": {"signature": "s"}}},
        {"type": "text", "delta": "a", "metadata": {"citations": [2], "language": "en"}},
        {"type": "text", "delta": "", "metadata": {"extensions": {"b": 2}, "mimeType": "text/plain"}},
        {"type": "tool_call", "id": "t", "name": "f", "input": {}},
        {"type": "text", "delta": "b"},
    ]));
    let whole = json!({"citations": [1, 2], "language": "en", "mimeType": "text/plain", "extensions": {"a": 1, "b": 2}});
    let metadata = serde_json::to_value(&output.metadata).expect("metadata is JSON");
    assert_eq!(
        metadata,
        json!([[0, {"extensions": {"signature": "s"}}], [1, whole]])
    );
    let content = events.iter().find(|event| event["type"] == "content");
    assert_eq!(content.expect("a text")["metadata"], whole);
}

#[test]
fn a_block_that_a_transform_replaced_is_ended_and_leaves_no_content() {
    let (events, output) = accumulate(json!([
        {"type": "text", "delta": "a"},
        {"type": "custom_block_start", "blockId": "block_1", "tag": "note", "attrs": {}},
        {"type": "text", "delta": "b", "metadata": {"language": "de"}},
    ]));
    assert_eq!(
        outline(&events)[5..],
        [
            "custom_block_start 1",
            "content_start 2",
            "content_delta 2",
            "content_end 2",
            "content 2",
            "custom_block_end 1",
            "message_end",
        ]
    );
    assert_eq!(output.message.content.len(), 2);
    assert_eq!(output.metadata[0].0, 1);
}

#[test]
fn the_last_named_model_counts() {
    let (events, output) = accumulate(json!([
        {"type": "error", "error": "slow"},
        {"type": "message_start", "model": "m"},
        {"type": "message_start"},
    ]));
    assert_eq!(outline(&events), ["message_start", "error", "message_end"]);
    assert_eq!(events[1]["error"]["code"], "stream_error");
    assert_eq!(output.model.as_deref(), Some("m"));
}

/// Each call is found among all others in a few steps: a search through those that began later would take 2 * 10^10 of
/// them, minutes in a debug build.
#[test]
fn many_open_calls_that_end_in_the_order_in_which_they_began() {
    const CALLS: usize = 200_000;
    let ids: Vec<_> = (0..CALLS).map(|n| format!("call_{n}")).collect();
    let mut reply = Accumulator::new(None);
    for id in &ids {
        let (id, name) = (id.clone(), "f".to_owned());
        reply.push(&Delta::ToolCallStart { id, name });
    }
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(reply.tool_use(id), None);
        reply.push(&Delta::ToolCallEnd {
            id: id.clone(),
            input: Some(json!({ "n": n })),
        });
        let found = serde_json::to_value(reply.tool_use(id)).expect("content is JSON");
        assert_eq!(found["input"]["n"], n);
    }
}

#[test]
fn of_several_calls_with_one_id_the_last_is_found() {
    let mut reply = Accumulator::new(None);
    for n in [1, 2] {
        reply.push(&Delta::ToolCall {
            id: "a".to_owned(),
            name: "f".to_owned(),
            input: json!({ "n": n }),
        });
        let found = serde_json::to_value(reply.tool_use("a")).expect("content is JSON");
        assert_eq!(found["input"]["n"], n);
    }
}
