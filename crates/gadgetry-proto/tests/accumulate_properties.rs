//! What holds for every stream of deltas, however badly it behaves.

use std::collections::BTreeMap;

use gadgetry_proto::accumulate::AccumulatedReply;
use gadgetry_proto::accumulate::Accumulator;
use gadgetry_proto::delta::Delta;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use crate::support::stream::{self, Stream};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn joining_adjacent_texts_never_changes_the_output(deltas in stream()) {
        prop_assert_eq!(accumulate(&join(&deltas)).1, accumulate(&deltas).1);
    }

    #[test]
    fn the_place_of_the_end_never_changes_the_output(deltas in stream(), at in any::<prop::sample::Index>()) {
        let mut deltas = deltas;
        deltas.retain(|delta| !matches!(delta, Delta::MessageEnd { .. }));
        let end = parse(&json!({"type": "message_end", "stopReason": "stop", "usage": {"inputTokens": 2}}));
        let mut early = deltas.clone();
        early.insert(at.index(deltas.len() + 1), end.clone());
        deltas.push(end);
        prop_assert_eq!(accumulate(&early), accumulate(&deltas));
    }

    #[test]
    fn a_restored_accumulator_continues_identically(deltas in stream(), at in any::<prop::sample::Index>()) {
        let (before, after) = deltas.split_at(at.index(deltas.len() + 1));
        let mut stream = Stream::new(Accumulator::new(Some("m".to_owned())));
        for delta in before {
            stream.apply(delta);
        }
        stream.reply = through_json(&stream.reply);
        for delta in after {
            stream.apply(delta);
        }
        let (events, output) = stream.finish();
        prop_assert_eq!((events, through_json(&output)), accumulate(&deltas));
    }

    #[test]
    fn events_are_well_formed_and_match_the_message(deltas in stream()) {
        let (events, output) = accumulate(&deltas);
        let content = check_events(&events);
        prop_assert_eq!(json!(content), json!(output.message.content));
    }
}

/// Checks the frame and every block's life; gives the content that the events tell of, in order.
fn check_events(events: &[Value]) -> Vec<Value> {
    let is = |event: &Value, kind: &str| event["type"] == kind;
    assert!(is(&events[0], "message_start"), "first");
    assert!(is(&events[events.len() - 1], "message_end"), "last");
    let frames = events
        .iter()
        .filter(|event| is(event, "message_start") || is(event, "message_end"));
    assert_eq!(frames.count(), 2);

    let mut lives: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for event in events {
        if let Some(index) = event["blockIndex"].as_u64() {
            lives.entry(index).or_default().push(event);
        }
    }
    let indices: Vec<u64> = lives.keys().copied().collect();
    assert!(indices.iter().copied().eq(0..indices.len() as u64), "gaps");
    let begins = lives.values().map(|life| life[0]);
    let places: Vec<_> = begins
        .map(|first| events.iter().position(|event| std::ptr::eq(event, first)))
        .collect();
    assert!(places.is_sorted(), "an index is the order of beginning");
    lives.values().filter_map(|life| check_life(life)).collect()
}

/// Checks the events of one block; gives its content, if it became complete.
fn check_life(life: &[&Value]) -> Option<Value> {
    let kinds: Vec<&str> = life
        .iter()
        .map(|event| event["type"].as_str().expect("a type"))
        .collect();
    let deltas = |from: usize| -> String {
        let texts = life[from..].iter().map(|event| event["delta"].as_str());
        texts.map_while(|text| text).collect()
    };
    let last = *life.last().expect("a life has events");
    let lifted = |kind: &str| {
        let mut content = last.clone();
        let fields = content.as_object_mut().expect("events are objects");
        fields.remove("blockIndex");
        fields["type"] = json!(kind);
        content
    };
    match kinds[0] {
        "content_start" => {
            check_kinds(&kinds, "content_delta", &["content_end", "content"]);
            assert_eq!(last["content"]["text"], deltas(1));
            Some(last["content"].clone())
        }
        "reasoning_start" => {
            check_kinds(&kinds, "reasoning_delta", &["reasoning_end", "reasoning"]);
            assert_eq!(last["reasoning"], deltas(1));
            Some(json!({"type": "reasoning", "text": last["reasoning"]}))
        }
        "tool_call_start" => {
            check_kinds(&kinds, "tool_call_delta", &["tool_call_end", "tool_call"]);
            let (id, name, input) = (&last["callId"], &last["name"], &last["input"]);
            Some(json!({"type": "tool_use", "toolUseId": id, "name": name, "input": input}))
        }
        "custom_block_start" if last["type"] == "custom_block_end" => {
            check_kinds(&kinds, "custom_block_delta", &["custom_block_end"]);
            None
        }
        "custom_block_start" => {
            let ends = ["custom_block_end", "custom_block"];
            check_kinds(&kinds, "custom_block_delta", &ends);
            Some(lifted("custom"))
        }
        "gadget_call_start" if last["type"] != "gadget_call" => None,
        "gadget_call_start" => {
            check_kinds(&kinds, "gadget_args_partial", &["gadget_call"]);
            Some(lifted("gadget_call"))
        }
        "custom_block" | "gadget_call" => {
            assert_eq!(kinds.len(), 1);
            Some(lifted(if kinds[0] == "custom_block" {
                "custom"
            } else {
                "gadget_call"
            }))
        }
        other => panic!("{other} begins a block"),
    }
}

/// One start, any number of deltas, then exactly these ends.
fn check_kinds(kinds: &[&str], delta: &str, ends: &[&str]) {
    let (middle, end) = kinds[1..].split_at(kinds.len() - 1 - ends.len());
    assert!(middle.iter().all(|kind| *kind == delta), "{kinds:?}");
    assert_eq!(end, ends);
}

fn accumulate(deltas: &[Delta]) -> (Vec<Value>, AccumulatedReply) {
    stream::accumulate(Some("m"), deltas)
}

/// Joins adjacent texts, and adjacent reasoning, where no metadata stands between them.
fn join(deltas: &[Delta]) -> Vec<Delta> {
    let mut joined: Vec<Delta> = Vec::new();
    for delta in deltas {
        match (joined.last_mut(), delta) {
            (
                Some(Delta::Text { delta: known, .. }),
                Delta::Text {
                    delta,
                    metadata: None,
                },
            )
            | (
                Some(Delta::Reasoning { delta: known, .. }),
                Delta::Reasoning {
                    delta,
                    metadata: None,
                },
            ) => known.push_str(delta),
            _ => joined.push(delta.clone()),
        }
    }
    joined
}

/// Any deltas in any order: nothing is promised about what belongs together.
fn stream() -> impl Strategy<Value = Vec<Delta>> {
    prop::collection::vec(delta(), 0..40)
}

fn delta() -> impl Strategy<Value = Delta> {
    let text = prop::sample::select(vec!["", "a", "ß ", "{\"k\":1}", "{", "}"]);
    let id = prop::sample::select(vec!["x", "y", "z"]);
    (0..24_u8, text, id, any::<bool>())
        .prop_map(|(kind, text, id, flag)| parse(&any_delta(kind, text, id, flag)))
}

fn any_delta(kind: u8, text: &str, id: &str, flag: bool) -> Value {
    let block = json!(match id {
        "x" => "block_1",
        "y" => "block_2",
        _ => "block_12",
    });
    match kind {
        0..=3 => json!({"type": "text", "delta": text}),
        4 => json!({"type": "text", "delta": text, "metadata": {"citations": [id]}}),
        5..=6 => json!({"type": "reasoning", "delta": text}),
        7 => {
            json!({"type": "content_metadata", "metadata": {"language": id, "extensions": {id: text}}})
        }
        8 => json!({"type": "reasoning_metadata", "metadata": {"annotations": [text]}}),
        9 => json!({"type": "tool_call_start", "id": id, "name": "f"}),
        10..=11 => json!({"type": "tool_call_delta", "id": id, "delta": text}),
        12 => json!({"type": "tool_call_end", "id": id, "input": flag.then_some(text)}),
        13 => json!({"type": "tool_call", "id": id, "name": "g", "input": {"k": text}}),
        14 => {
            json!({"type": "custom_block_start", "blockId": block, "tag": id, "attrs": {"k": text}})
        }
        15 => json!({"type": "custom_block_delta", "blockId": block, "tag": id, "delta": text}),
        16 => json!({"type": "custom_block_end", "blockId": block, "tag": id, "reason": "closed"}),
        17 => {
            json!({"type": "custom_block", "blockId": block, "tag": id, "content": text, "attrs": {}, "selfClosing": flag})
        }
        18 => {
            json!({"type": "gadget_call_start", "gadgetName": "g", "invocationId": id, "dependencies": ["x"]})
        }
        19 => {
            json!({"type": "gadget_args_partial", "gadgetName": "g", "invocationId": id, "fieldPath": "p", "delta": text, "isFieldComplete": flag})
        }
        20 => {
            let parameters = if flag { "parameters" } else { "parseError" };
            json!({"type": "gadget_call", "gadgetName": "g", "invocationId": id, "dependencies": [], "parametersRaw": text, parameters: text, "terminatedBy": "nextStart", "span": {"start": 1, "end": 2}})
        }
        21 => {
            json!({"type": "message_end", "stopReason": text, "usage": {"inputTokens": text.len(), "reasoningTokens": 4}})
        }
        22 if flag => json!({"type": "message_start", "model": id}),
        22 => json!({"type": "usage", "usage": {"outputTokens": text.len()}}),
        _ if flag => json!({"type": "error", "error": text}),
        _ => json!({"type": "raw", "data": [text, 1, null]}),
    }
}

fn parse(delta: &Value) -> Delta {
    serde_json::from_value(delta.clone()).expect("a delta of the vocabulary")
}

fn through_json<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("it can be saved");
    serde_json::from_str(&text).expect("it can be loaded")
}
