//! The `pipeline` vectors of `corpus/tag-vectors.json`, through an adapter that has the custom blocks and an agent that
//! has none: streamed, and as one whole reply. The engine's own test compares every event; here it is what a run shows
//! and keeps.

use gadgetry::{Agent, proto::delta::Delta};
use gadgetry_proto::event::EventKind;
use gadgetry_proto::message::{Content, Role};
use gadgetry_proto::tags::CustomBlock;
use gadgetry_providers::adapter::AdapterBuilder;
use serde_json::{self, Value, json};

use super::{streaming, whole};

const VECTORS: &str = include_str!("../../../../corpus/tag-vectors.json");
const DEVIATIONS: &str = include_str!("../../../../corpus/tag-deviations.json");

/// An error is the end of a model's reply, so the run has failed and nothing behind it is read.
const FAILS: &str = "acc-004";

#[tokio::test]
async fn every_pipeline_vector_through_an_adapter() {
    let vectors = list(VECTORS, "pipeline");
    assert_eq!(vectors.len(), 11);
    for vector in &vectors {
        let deltas: Vec<Delta> = serde_json::from_value(vector["deltas"].clone()).unwrap();
        for adapter in [streaming(deltas.clone()), whole(deltas)] {
            let blocks = blocks(&vector["custom_blocks"]);
            let adapter = blocks
                .into_iter()
                .fold(adapter, AdapterBuilder::custom_block);
            let got = run(Agent::builder()
                .model(adapter.build())
                .without_retry()
                .max_iterations(1))
            .await;
            if vector["id"] == FAILS {
                assert_eq!(
                    got["content"],
                    json!([{"type": "text", "text": "A"}]),
                    "{FAILS}"
                );
                let error = json!({"kind": "other", "error": "bad", "code": "E1"});
                assert_eq!(got["error"], error, "{FAILS}");
                continue;
            }
            for (what, expected) in expected(vector) {
                assert_eq!(got[&what], expected, "{what} of {}", vector["id"]);
            }
        }
    }
}

fn expected(vector: &Value) -> [(String, Value); 4] {
    let deviations = list(DEVIATIONS, "deviations");
    let deviation = deviations.iter().find(|one| one["id"] == vector["id"]);
    let get = |what: &str| {
        let ours = deviation.and_then(|one| one["instead"].get(what));
        ours.unwrap_or(&vector["expect"][what]).clone()
    };
    let events = get("events");
    let mut told = Told::default();
    for event in events.as_array().unwrap() {
        match event["type"].as_str().unwrap() {
            "content_delta" => told.add("text", &event["delta"]),
            "custom_block_start" => told.push(json!(["start", event["tag"], event["attrs"]])),
            "custom_block_delta" => told.add("in", &event["delta"]),
            "custom_block_end" => told.push(json!(["end", event["tag"]])),
            "custom_block" => told.push(json!(["block", event["tag"], event["content"]])),
            _ => {}
        }
    }
    [
        ("content".into(), get("accumulator_message_content")),
        ("usage".into(), get("usage")),
        ("stop".into(), get("stop_reason")),
        ("told".into(), told.0.into()),
    ]
}

/// What the run shows and keeps, in the words of the vectors.
async fn run(builder: gadgetry::AgentBuilder) -> Value {
    let mut told = Told::default();
    let (mut usage, mut stop) = (Value::Null, Value::Null);
    let run = builder.ask("Hi").unwrap();
    let finished = run
        .on_event(|event| match &event.kind {
            EventKind::Text { text } => told.add("text", &json!(text)),
            EventKind::CustomBlockStart(it) => told.push(json!(["start", it.tag, it.attrs])),
            EventKind::CustomBlockDelta(it) => told.add("in", &json!(it.delta)),
            EventKind::CustomBlockEnd(it) => told.push(json!(["end", it.tag])),
            EventKind::CustomBlock(block) => told.push(json!(["block", block.tag, block.content])),
            EventKind::ModelCallEnd {
                usage: counts,
                stop_reason,
                ..
            } => {
                (usage, stop) = (json!(counts), json!(stop_reason));
            }
            _ => {}
        })
        .await;
    let finished = finished.unwrap_or_else(gadgetry::RunError::into_finished);
    let mut replies = finished.history.iter().rev();
    let reply = replies.find(|message| message.role == Role::Assistant);
    let content = reply.map_or(&[][..], |reply| &reply.content);
    json!({
        "content": content.iter().map(comparable).collect::<Value>(),
        "usage": usage,
        "stop": stop,
        "told": told.0,
        "error": finished.summary.error,
    })
}

fn comparable(content: &Content) -> Value {
    let mut value = json!(content);
    value.as_object_mut().unwrap().remove("blockId");
    value
}

/// What is told, with adjacent pieces of one text joined.
#[derive(Default)]
struct Told(Vec<Value>);

impl Told {
    fn push(&mut self, what: Value) {
        self.0.push(what);
    }

    fn add(&mut self, kind: &str, piece: &Value) {
        let piece = piece.as_str().unwrap();
        if piece.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last[0] == kind => {
                last[1] = format!("{}{piece}", last[1].as_str().unwrap()).into();
            }
            _ => self.0.push(json!([kind, piece])),
        }
    }
}

fn blocks(custom_blocks: &Value) -> Vec<CustomBlock> {
    let definitions = custom_blocks.as_object().unwrap();
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
    blocks.collect()
}

fn list(corpus: &str, name: &str) -> Vec<Value> {
    let corpus: Value = serde_json::from_str(corpus).unwrap();
    corpus[name].as_array().unwrap().clone()
}
