//! The `pipeline` vectors of `corpus/tag-vectors.json`: deltas through scanner and accumulator, compared with what the
//! reference made of them, except where the table `corpus/tag-deviations.json`
//! says that we do better, and why.
//!
//! Adjacent deltas of one block are joined before comparing: where a scanner cuts text is its own affair.
//!
//! Compared are all events in order, the content of the message, usage, stop reason and visible text. The reference has
//! no block ids, no end reasons, and no block index on custom blocks; these are left out of the comparison.

use gadgetry_proto::accumulate::AccumulatedReply;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::Content;
use gadgetry_proto::reply::{Format, ReplyStage};
use gadgetry_proto::tags::CustomBlock;
use serde_json::Value;
use serde_json::json;

use crate::support::stream;

const VECTORS: &str = include_str!("../../../corpus/tag-vectors.json");
const DEVIATIONS: &str = include_str!("../../../corpus/tag-deviations.json");

/// What is compared.
const COMPARED: [&str; 5] = [
    "events",
    "accumulator_message_content",
    "usage",
    "stop_reason",
    "raw_text",
];

#[test]
fn every_pipeline_vector_or_its_deviation() {
    let vectors = list(VECTORS, "pipeline");
    let deviations = list(DEVIATIONS, "deviations");
    assert_eq!(vectors.len(), 11);
    for vector in &vectors {
        let deltas: Vec<Delta> =
            serde_json::from_value(vector["deltas"].clone()).expect("deltas of the vocabulary");
        let deltas = scan(&deltas, &vector["custom_blocks"]);
        let (events, output) = stream::accumulate(Some("m"), &deltas);
        let got = outcome(&events, &output);
        let deviation = deviations.iter().find(|one| one["id"] == vector["id"]);
        for what in COMPARED {
            let ours = deviation.and_then(|one| one["instead"].get(what));
            let expected = ours.unwrap_or(&vector["expect"][what]);
            let context = format!("{what} of {}", vector["id"]);
            if what == "events" {
                assert_eq!(joined(&got[what]), joined(expected), "{context}");
            } else {
                assert_eq!(&got[what], expected, "{context}");
            }
        }
    }
}

#[test]
fn every_deviation_names_a_vector_and_differs_from_it() {
    let vectors = list(VECTORS, "pipeline");
    for deviation in list(DEVIATIONS, "deviations") {
        let id = &deviation["id"];
        assert!(deviation["reason"].is_string(), "{id} has no reason");
        let vector = vectors.iter().find(|vector| vector["id"] == *id);
        let vector = vector.unwrap_or_else(|| panic!("no vector {id}"));
        for (what, ours) in deviation["instead"].as_object().expect("an object") {
            assert!(COMPARED.contains(&what.as_str()), "{what} is not compared");
            assert_ne!(&vector["expect"][what], ours, "{id}: {what}");
        }
    }
}

/// The vector's deltas with the tags taken out of the text. `custom_blocks` are key → `tag`, and `transform`: `suppress`
/// or `bracket`.
fn scan(deltas: &[Delta], custom_blocks: &Value) -> Vec<Delta> {
    let definitions = custom_blocks.as_object().expect("definitions by key");
    let blocks = definitions.iter().map(|(key, how)| {
        let block = CustomBlock::new(key).tag(how["tag"].as_str().unwrap_or(key));
        match how["transform"].as_str() {
            None => block,
            Some("suppress") => block.suppress(),
            Some("bracket") => {
                block.map(|block| Some(vec![Delta::text(format!("[{}]", block.content))]))
            }
            Some(other) => panic!("no transform {other}"),
        }
    });
    let format = Format {
        markers: None,
        ..Format::default()
    };
    let mut stage = ReplyStage::new(format, blocks.collect(), None).expect("tags that differ");
    let mut scanned = Vec::new();
    for delta in deltas {
        stage.process(delta.clone(), &mut scanned);
    }
    stage.finish(&mut scanned);
    scanned
}

/// What came out, in the words of the vectors.
fn outcome(events: &[Value], output: &AccumulatedReply) -> Value {
    let text = |content: &Content| {
        let Content::Text { text } = content else {
            return None;
        };
        Some(text.clone())
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

/// The events, with adjacent deltas of one block made one.
fn joined(events: &Value) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for event in events.as_array().expect("a list of events") {
        let mut same = event.clone();
        let text = same["delta"].take();
        if let (Some(last), Some(text)) = (joined.last_mut(), text.as_str()) {
            let known = last["delta"].take();
            let adjacent = *last == same;
            last["delta"] = known;
            if adjacent {
                let known = last["delta"].as_str().unwrap_or_default();
                last["delta"] = json!(format!("{known}{text}"));
                continue;
            }
        }
        joined.push(event.clone());
    }
    joined
}

fn list(corpus: &str, name: &str) -> Vec<Value> {
    let corpus: Value = serde_json::from_str(corpus).expect("the corpus is JSON");
    corpus[name].as_array().expect("a list").clone()
}
