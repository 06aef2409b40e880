//! The `pipeline` vectors of `corpus/tag-vectors.json`: deltas through scanner and accumulator, compared with what the
//! reference made of them, except where [`DEVIATIONS`] says that we do better.
//!
//! Compared are all events in order, the content of the message, usage, stop reason and visible text. The reference has
//! no block ids, no end reasons, and no block index on custom blocks; these are left out of the comparison.

use gadgetry_proto::accumulate::Accumulator;
use gadgetry_proto::accumulate::Output;
use gadgetry_proto::accumulate::StreamEvent;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::delta::EndReason;
use gadgetry_proto::id::BlockId;
use gadgetry_proto::message::Content;
use gadgetry_proto::message::CustomContentBlock;
use serde_json::Value;
use serde_json::json;

const VECTORS: &str = include_str!("../../../corpus/tag-vectors.json");

/// What is compared.
const COMPARED: [&str; 5] = [
    "events",
    "accumulator_message_content",
    "usage",
    "stop_reason",
    "raw_text",
];

/// A vector that shows a defect of the reference. `instead` replaces the expectations that it names.
struct Deviation {
    id: &'static str,
    reason: &'static str,
    instead: &'static str,
}

/// Numbers as in `reference/agentick.md`: A* are defects of its accumulator, Q* of its tag parser.
const DEVIATIONS: &[Deviation] = &[
    Deviation {
        id: "pipe-001",
        reason: "A9: text ends before the block starts. decisions.md: all four events carry the key, not the XML name",
        instead: r#"{"events": [
            {"type": "message_start", "role": "assistant", "model": "m"},
            {"type": "content_start", "blockType": "text", "blockIndex": 0},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "A"},
            {"type": "content_end", "blockType": "text", "blockIndex": 0},
            {"type": "content", "blockIndex": 0, "content": {"type": "text", "text": "A"}},
            {"type": "custom_block_start", "tag": "dbg", "attrs": {"k": "1"}},
            {"type": "custom_block_delta", "tag": "dbg", "delta": "B"},
            {"type": "custom_block_end", "tag": "dbg"},
            {"type": "custom_block", "tag": "dbg", "content": "B", "attrs": {"k": "1"}},
            {"type": "content_start", "blockType": "text", "blockIndex": 2},
            {"type": "content_delta", "blockType": "text", "blockIndex": 2, "delta": "C"},
            {"type": "content_end", "blockType": "text", "blockIndex": 2},
            {"type": "content", "blockIndex": 2, "content": {"type": "text", "text": "C"}},
            {"type": "message_end", "stopReason": "stop", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}
        ]}"#,
    },
    Deviation {
        id: "pipe-004",
        reason: "§2.2: what a transform gives takes the block's place, so a live reader does not see the content twice",
        instead: r#"{"events": [
            {"type": "message_start", "role": "assistant", "model": "m"},
            {"type": "content_start", "blockType": "text", "blockIndex": 0},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "A"},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "[B]"},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "C"},
            {"type": "content_end", "blockType": "text", "blockIndex": 0},
            {"type": "content", "blockIndex": 0, "content": {"type": "text", "text": "A[B]C"}},
            {"type": "message_end", "stopReason": "stop", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}
        ]}"#,
    },
    Deviation {
        id: "pipe-007",
        reason: "A9, and decisions.md: a self-closing block emits start and end too",
        instead: r#"{"events": [
            {"type": "message_start", "role": "assistant", "model": "m"},
            {"type": "content_start", "blockType": "text", "blockIndex": 0},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "A"},
            {"type": "content_end", "blockType": "text", "blockIndex": 0},
            {"type": "content", "blockIndex": 0, "content": {"type": "text", "text": "A"}},
            {"type": "custom_block_start", "tag": "note", "attrs": {}},
            {"type": "custom_block_delta", "tag": "note", "delta": "1"},
            {"type": "custom_block_end", "tag": "note"},
            {"type": "custom_block", "tag": "note", "content": "1", "attrs": {}},
            {"type": "custom_block_start", "tag": "ping", "attrs": {}},
            {"type": "custom_block_end", "tag": "ping"},
            {"type": "custom_block", "tag": "ping", "content": "", "attrs": {}, "selfClosing": true},
            {"type": "content_start", "blockType": "text", "blockIndex": 3},
            {"type": "content_delta", "blockType": "text", "blockIndex": 3, "delta": "B"},
            {"type": "content_end", "blockType": "text", "blockIndex": 3},
            {"type": "content", "blockIndex": 3, "content": {"type": "text", "text": "B"}},
            {"type": "message_end", "stopReason": "stop", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}
        ]}"#,
    },
    Deviation {
        id: "pipe-008",
        reason: "A2: text that was held back is part of the message, and nothing follows message_end",
        instead: r#"{"events": [
            {"type": "message_start", "role": "assistant", "model": "m"},
            {"type": "content_start", "blockType": "text", "blockIndex": 0},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "A <no"},
            {"type": "content_end", "blockType": "text", "blockIndex": 0},
            {"type": "content", "blockIndex": 0, "content": {"type": "text", "text": "A <no"}},
            {"type": "message_end", "stopReason": "stop", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}
        ], "accumulator_message_content": [{"type": "text", "text": "A <no"}]}"#,
    },
    Deviation {
        id: "pipe-011",
        reason: "A9, and §3.3: tool calls stand where they were made",
        instead: r#"{"events": [
            {"type": "message_start", "role": "assistant", "model": "m"},
            {"type": "content_start", "blockType": "text", "blockIndex": 0},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "A"},
            {"type": "content_end", "blockType": "text", "blockIndex": 0},
            {"type": "content", "blockIndex": 0, "content": {"type": "text", "text": "A"}},
            {"type": "custom_block_start", "tag": "note", "attrs": {}},
            {"type": "custom_block_delta", "tag": "note", "delta": "B"},
            {"type": "custom_block_end", "tag": "note"},
            {"type": "custom_block", "tag": "note", "content": "B", "attrs": {}},
            {"type": "content_start", "blockType": "text", "blockIndex": 2},
            {"type": "content_delta", "blockType": "text", "blockIndex": 2, "delta": "C"},
            {"type": "content_end", "blockType": "text", "blockIndex": 2},
            {"type": "content", "blockIndex": 2, "content": {"type": "text", "text": "C"}},
            {"type": "tool_call_start", "callId": "t1", "name": "f", "blockIndex": 3},
            {"type": "tool_call_end", "callId": "t1", "blockIndex": 3},
            {"type": "tool_call", "callId": "t1", "name": "f", "input": {"k": 1}, "blockIndex": 3},
            {"type": "content_start", "blockType": "text", "blockIndex": 4},
            {"type": "content_delta", "blockType": "text", "blockIndex": 4, "delta": "D"},
            {"type": "content_end", "blockType": "text", "blockIndex": 4},
            {"type": "content", "blockIndex": 4, "content": {"type": "text", "text": "D"}},
            {"type": "message_end", "stopReason": "tool_use", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}
        ], "accumulator_message_content": [
            {"type": "text", "text": "A"},
            {"type": "custom", "tag": "note", "content": "B", "attrs": {}},
            {"type": "text", "text": "C"},
            {"type": "tool_use", "toolUseId": "t1", "name": "f", "input": {"k": 1}},
            {"type": "text", "text": "D"}
        ]}"#,
    },
    Deviation {
        id: "pipe-012",
        reason: "Q26: text that is held back comes out before the call that follows it",
        instead: r#"{"events": [
            {"type": "message_start", "role": "assistant", "model": "m"},
            {"type": "content_start", "blockType": "text", "blockIndex": 0},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "A<no"},
            {"type": "content_end", "blockType": "text", "blockIndex": 0},
            {"type": "content", "blockIndex": 0, "content": {"type": "text", "text": "A<no"}},
            {"type": "tool_call_start", "callId": "t1", "name": "f", "blockIndex": 1},
            {"type": "tool_call_end", "callId": "t1", "blockIndex": 1},
            {"type": "tool_call", "callId": "t1", "name": "f", "input": {}, "blockIndex": 1},
            {"type": "content_start", "blockType": "text", "blockIndex": 2},
            {"type": "content_delta", "blockType": "text", "blockIndex": 2, "delta": "pe"},
            {"type": "content_end", "blockType": "text", "blockIndex": 2},
            {"type": "content", "blockIndex": 2, "content": {"type": "text", "text": "pe"}},
            {"type": "message_end", "stopReason": "tool_use", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}
        ], "accumulator_message_content": [
            {"type": "text", "text": "A<no"},
            {"type": "tool_use", "toolUseId": "t1", "name": "f", "input": {}},
            {"type": "text", "text": "pe"}
        ]}"#,
    },
    Deviation {
        id: "pipe-014",
        reason: "Q25: the metadata of a text stays with it",
        instead: r#"{"events": [
            {"type": "message_start", "role": "assistant", "model": "m"},
            {"type": "content_start", "blockType": "text", "blockIndex": 0, "metadata": {"citations": [{"text": "s"}]}},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "A"},
            {"type": "content_end", "blockType": "text", "blockIndex": 0, "metadata": {"citations": [{"text": "s"}]}},
            {"type": "content", "blockIndex": 0, "content": {"type": "text", "text": "A"}, "metadata": {"citations": [{"text": "s"}]}},
            {"type": "message_end", "stopReason": "stop", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}
        ]}"#,
    },
    Deviation {
        id: "acc-002",
        reason: "A6: each tool call has its own index, and stands where it began",
        instead: r#"{"events": [
            {"type": "message_start", "role": "assistant", "model": "m"},
            {"type": "tool_call_start", "callId": "a", "name": "f", "blockIndex": 0},
            {"type": "tool_call_start", "callId": "b", "name": "g", "blockIndex": 1},
            {"type": "tool_call_delta", "callId": "b", "blockIndex": 1, "delta": "{}"},
            {"type": "tool_call_end", "callId": "b", "blockIndex": 1},
            {"type": "tool_call", "callId": "b", "name": "g", "input": {}, "blockIndex": 1},
            {"type": "tool_call_end", "callId": "a", "blockIndex": 0},
            {"type": "tool_call", "callId": "a", "name": "f", "input": {"p": 1}, "blockIndex": 0},
            {"type": "message_end", "stopReason": "tool_use", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}
        ], "accumulator_message_content": [
            {"type": "tool_use", "toolUseId": "a", "name": "f", "input": {"p": 1}},
            {"type": "tool_use", "toolUseId": "b", "name": "g", "input": {}}
        ]}"#,
    },
    Deviation {
        id: "acc-003",
        reason: "A8: every count survives",
        instead: r#"{"events": [
            {"type": "message_start", "role": "assistant", "model": "m"},
            {"type": "content_start", "blockType": "text", "blockIndex": 0},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "A"},
            {"type": "content_end", "blockType": "text", "blockIndex": 0},
            {"type": "content", "blockIndex": 0, "content": {"type": "text", "text": "A"}},
            {"type": "message_end", "stopReason": "stop", "usage": {"inputTokens": 9, "outputTokens": 2, "totalTokens": 0, "cachedInputTokens": 3}}
        ], "usage": {"inputTokens": 9, "outputTokens": 2, "totalTokens": 0, "cachedInputTokens": 3}}"#,
    },
    Deviation {
        id: "acc-005",
        reason: "§3.2: a raw frame is no piece of a text that has not begun; it has its own event, behind message_start",
        instead: r#"{"events": [
            {"type": "message_start", "role": "assistant", "model": "m"},
            {"type": "raw", "data": {"z": 1}},
            {"type": "content_start", "blockType": "text", "blockIndex": 0},
            {"type": "content_delta", "blockType": "text", "blockIndex": 0, "delta": "A"},
            {"type": "content_end", "blockType": "text", "blockIndex": 0},
            {"type": "content", "blockIndex": 0, "content": {"type": "text", "text": "A"}},
            {"type": "message_end", "stopReason": "stop", "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}
        ]}"#,
    },
];

#[test]
fn every_pipeline_vector_or_its_deviation() {
    let corpus: Value = serde_json::from_str(VECTORS).expect("the corpus is JSON");
    let vectors = corpus["pipeline"].as_array().expect("a list of vectors");
    assert_eq!(vectors.len(), 11);
    for vector in vectors {
        let deltas: Vec<Delta> =
            serde_json::from_value(vector["deltas"].clone()).expect("deltas of the vocabulary");
        let deltas = scan(&deltas, &vector["custom_blocks"]);
        let (events, output) = accumulate(&deltas);
        let got = outcome(&events, &output);
        let expected = expectation(vector);
        for what in COMPARED {
            assert_eq!(got[what], expected[what], "{what} of {}", vector["id"]);
        }
    }
}

#[test]
fn every_deviation_names_a_vector_and_differs_from_it() {
    let corpus: Value = serde_json::from_str(VECTORS).expect("the corpus is JSON");
    let vectors = corpus["pipeline"].as_array().expect("a list of vectors");
    for deviation in DEVIATIONS {
        assert!(!deviation.reason.is_empty());
        let vector = vectors.iter().find(|vector| vector["id"] == deviation.id);
        let vector = vector.unwrap_or_else(|| panic!("no vector {}", deviation.id));
        for (what, ours) in instead(deviation) {
            assert!(COMPARED.contains(&what.as_str()), "{what} is not compared");
            assert_ne!(vector["expect"][&what], ours, "{}: {what}", deviation.id);
        }
    }
}

/// **The reply scanner plugs in here.** It takes a vector's deltas and `custom_blocks` (key → `tag`, and `transform`:
/// `suppress` or `bracket`) and gives the deltas with the tags taken out of the text, flush included.
///
/// Until it exists, the texts of the vectors are scanned by hand below.
fn scan(deltas: &[Delta], custom_blocks: &Value) -> Vec<Delta> {
    let scanned = |delta: &Delta| match delta {
        Delta::Text { delta: text, .. } => {
            by_hand(text, custom_blocks).unwrap_or_else(|| vec![delta.clone()])
        }
        other => vec![other.clone()],
    };
    deltas.iter().flat_map(scanned).collect()
}

fn by_hand(text: &str, custom_blocks: &Value) -> Option<Vec<Delta>> {
    let pieces = match text {
        "A<x-y k=1>B</x-y>C" => vec![
            vec![Delta::text("A")],
            block(1, "dbg", &json!({"k": "1"}), Some("B")),
            vec![Delta::text("C")],
        ],
        "A<note>B</note>C" if custom_blocks["note"]["transform"] == "bracket" => {
            vec![vec![Delta::text("A"), Delta::text("[B]"), Delta::text("C")]]
        }
        "A<note>B</note>C" => vec![
            vec![Delta::text("A")],
            block(1, "note", &json!({}), Some("B")),
            vec![Delta::text("C")],
        ],
        "A<note>1</note><ping/>B" => vec![
            vec![Delta::text("A")],
            block(1, "note", &json!({}), Some("1")),
            block(2, "ping", &json!({}), None),
            vec![Delta::text("B")],
        ],
        _ => return None,
    };
    Some(pieces.concat())
}

/// All deltas of one block; without content it is self-closing.
fn block(id: u32, tag: &str, attrs: &Value, content: Option<&str>) -> Vec<Delta> {
    let (block_id, tag) = (BlockId(id), tag.to_owned());
    let attrs = attrs.as_object().cloned().unwrap_or_default();
    let start = Delta::CustomBlockStart {
        block_id,
        tag: tag.clone(),
        attrs: attrs.clone(),
    };
    let delta = content.map(|content| Delta::CustomBlockDelta {
        block_id,
        tag: tag.clone(),
        delta: content.to_owned(),
    });
    let end = Delta::CustomBlockEnd {
        block_id,
        tag: tag.clone(),
        reason: content.map_or(EndReason::SelfClosing, |_| EndReason::Closed),
    };
    let complete = Delta::CustomBlock(CustomContentBlock {
        block_id,
        tag,
        content: content.unwrap_or_default().to_owned(),
        attrs,
        self_closing: content.is_none(),
    });
    let deltas = [Some(start), delta, Some(end), Some(complete)];
    deltas.into_iter().flatten().collect()
}

fn accumulate(deltas: &[Delta]) -> (Vec<StreamEvent>, Output) {
    let mut events = Vec::new();
    let mut reply = Accumulator::new(Some("m".to_owned()));
    for delta in deltas {
        reply.apply(delta, &mut events);
    }
    let output = reply.finish(&mut events);
    (events, output)
}

/// What came out, in the words of the vectors.
fn outcome(events: &[StreamEvent], output: &Output) -> Value {
    let text = |content: &Content| match content {
        Content::Text { text } => Some(text.clone()),
        _ => None,
    };
    json!({
        "events": events.iter().map(comparable).collect::<Value>(),
        "accumulator_message_content": output.message.content.iter().map(comparable).collect::<Value>(),
        "usage": output.usage,
        "stop_reason": output.stop_reason,
        "raw_text": output.message.content.iter().filter_map(text).collect::<String>(),
    })
}

/// As JSON, without what the reference does not have.
fn comparable(item: &impl serde::Serialize) -> Value {
    let mut value = serde_json::to_value(item).expect("events are JSON");
    let fields = value.as_object_mut().expect("events are objects");
    fields.remove("blockId");
    let kind = fields["type"].as_str().unwrap_or_default();
    if kind.starts_with("custom_block") {
        fields.remove("blockIndex");
        fields.remove("reason");
    }
    value
}

fn expectation(vector: &Value) -> Value {
    let mut expected = vector["expect"].clone();
    let deviation = DEVIATIONS.iter().find(|one| vector["id"] == one.id);
    for (what, ours) in deviation.into_iter().flat_map(instead) {
        expected[what] = ours;
    }
    expected
}

fn instead(deviation: &Deviation) -> serde_json::Map<String, Value> {
    serde_json::from_str(deviation.instead).expect("the table is JSON")
}
