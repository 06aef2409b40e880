//! A stop sequence ends a reply cleanly only if the request had one.

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_providers::{Anthropic, ModelBuilder, OpenAi, Wire, WireModel};
use serde_json::{Value, json};

const CHAT: &str = r#"{"choices":[{"finish_reason":"stop_sequence","message":{"content":"Hi","tool_calls":[{"id":"a","function":{"name":"f"}}]}}]}"#;
const MESSAGES: &str = r#"{"content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"a","name":"f"}],"stop_reason":"stop_sequence","stop_sequence":"x"}"#;

/// Whether the answer to a request of this model is whole.
fn is_whole<W: Wire>(model: &WireModel<W>, answer: &str) -> bool {
    let mut deltas = Vec::new();
    let mut decoder = model.wire().decoder();
    decoder.reply(answer.parse().unwrap(), &mut deltas);
    decoder.end(&mut deltas);
    let Some(Delta::MessageEnd {
        stop_reason: ended, ..
    }) = deltas.last().cloned()
    else {
        panic!("no end: {deltas:?}");
    };
    // What is saved stays a cut.
    let saved: StopReason = serde_json::from_value(json!(ended)).expect("a reason");
    assert_eq!(saved, ended);
    let calls = deltas.iter();
    let called = calls
        .filter(|it| matches!(it, Delta::ToolCallEnd { .. }))
        .count();
    assert_eq!(called, usize::from(ended.is_clean()), "{deltas:?}");
    ended.is_clean()
}

#[test]
fn only_a_stop_sequence_that_was_sent_ends_a_reply() {
    for (stops, field, expected) in [
        (vec![], None, false),
        (vec!["x"], None, true),
        // An additional field replaces or removes the option's.
        (vec!["x"], Some(Value::Null), false),
        (vec!["x"], Some(json!([])), false),
        (vec![], Some(json!(["x"])), true),
        (vec![], Some(json!("x")), true),
        (vec![], Some(json!("")), false),
        (vec![], Some(json!({})), false),
    ] {
        let chat = OpenAi::builder("m");
        let chat = with(chat.stop(stops.clone()), "stop", field.clone());
        assert_eq!(
            is_whole(&chat.build().unwrap(), CHAT),
            expected,
            "{stops:?} {field:?}"
        );
        let messages = Anthropic::builder("m");
        let messages = with(
            messages.stop(stops.clone()),
            "stop_sequences",
            field.clone(),
        );
        assert_eq!(
            is_whole(&messages.build().unwrap(), MESSAGES),
            expected,
            "{stops:?} {field:?}"
        );
    }
}

fn with<O>(builder: ModelBuilder<O>, name: &str, field: Option<Value>) -> ModelBuilder<O> {
    match field {
        Some(value) => builder.option(name, value),
        None => builder,
    }
}
