//! What a reply becomes on its way to the run.

use std::time::Duration;

use gadgetry::Model;
use gadgetry::proto::block::{Anchoring, Markers};
use gadgetry::proto::call::Parameters;
use gadgetry::proto::delta::{Delta, StopReason};
use gadgetry::proto::error::{ModelError, ModelErrorKind};
use gadgetry::proto::reply::{Format, ReplyStage};
use gadgetry::proto::schema::{GadgetSpec, Registry};
use gadgetry::proto::usage::Usage;
use gadgetry_testing::{Cut, MockGadget, MockModel, Reply, any, call, elapsed, paused, reply};
use serde_json::{Value, json};

use crate::support::{deltas, panic_of, says, toolbox};

fn text(delta: &str) -> Delta {
    Delta::text(delta)
}

fn thought(delta: &str) -> Delta {
    Delta::Reasoning {
        delta: delta.to_owned(),
        metadata: None,
    }
}

fn end(stop_reason: StopReason, usage: Option<Usage>) -> Delta {
    Delta::MessageEnd { stop_reason, usage }
}

fn check(reply: impl Into<Reply>, expected: &[Delta]) {
    let model = MockModel::in_order([reply.into()]);
    assert_eq!(paused(deltas(&model, says("go"))), expected);
}

#[test]
fn texts() {
    let stop = end(StopReason::Stop, None);
    check(reply(), std::slice::from_ref(&stop));
    check("", std::slice::from_ref(&stop));
    check("héllo", &[text("héllo"), stop.clone()]);
    check("one".to_owned(), &[text("one"), stop.clone()]);
    let both = reply().text("one ").text("two").chunks(Cut::Every(4));
    check(both, &[text("one "), text("two"), stop.clone()]);
    let cut = reply().text("abcd").chunks(Cut::At(vec![1, 3]));
    check(cut, &[text("a"), text("bc"), text("d"), stop]);
}

#[test]
fn calls_begin_a_line() {
    let stop = end(StopReason::Stop, None);
    let block = "!!!GADGET_START:Ping\n!!!GADGET_END\n";
    check(call("Ping"), &[text(block), stop.clone()]);
    let spoken = reply().text("Hi").call(call("Ping"));
    check(spoken, &[text(&format!("Hi\n{block}")), stop.clone()]);
    let parted = reply()
        .text("Hi")
        .reasoning("hm")
        .calls([call("Ping"), call("Ping")]);
    let blocks = format!("\n{block}{block}");
    check(parted, &[text("Hi"), thought("hm"), text(&blocks), stop]);
}

#[test]
fn thoughts_and_other_deltas_keep_their_place() {
    let start = Delta::MessageStart {
        model: Some("m".to_owned()),
    };
    let all = reply()
        .delta(start.clone())
        .reasoning("abc")
        .text("def")
        .chunks(Cut::Every(2));
    let stop = end(StopReason::Stop, None);
    let expected = [
        start,
        thought("ab"),
        thought("c"),
        text("de"),
        text("f"),
        stop,
    ];
    check(all, &expected);
}

#[test]
fn a_reply_ends_as_it_was_built() {
    let usage = Usage::default()
        .input_tokens(5)
        .output_tokens(2)
        .total_tokens(7);
    let counts = Delta::Usage { usage };
    check(
        reply().tokens(5, 2).stop_reason(StopReason::MaxTokens),
        &[end(StopReason::MaxTokens, Some(usage))],
    );
    check(reply().text("a").disconnects(), &[text("a")]);
    check(
        reply().usage(usage).disconnects(),
        std::slice::from_ref(&counts),
    );
    check(
        reply().text("a").tokens(5, 2).fails("no"),
        &[text("a"), counts, Delta::error("no")],
    );
    let slow_down = Delta::Error(
        ModelError::new(ModelErrorKind::RateLimit, "slow down").with_retry_after_ms(1500),
    );
    let rate_limit = reply().fails_as(ModelErrorKind::RateLimit, "slow down");
    let rate_limit = rate_limit.retry_after(Duration::from_millis(1500));
    check(rate_limit, std::slice::from_ref(&slow_down));
    check(reply().fails_with(slow_down.clone()), &[slow_down]);
}

#[test]
fn mistakes_of_the_test() {
    for (words, mistake) in [
        (
            panic_of(|| reply().fails_with(Delta::text("x"))),
            "a reply fails with an error, not with ",
        ),
        (
            panic_of(|| reply().retry_after(Duration::ZERO)),
            "only an error asks to wait, not ",
        ),
        (
            panic_of(|| call("X").args(json!([1]))),
            "the arguments of a call are an object, not [1]",
        ),
        (
            panic_of(|| reply().call(call("a:b")).written()),
            "the test wants a call that no model could write: ",
        ),
    ] {
        assert!(words.starts_with(mistake), "{words}");
    }
}

#[test]
fn delays_pass_on_the_paused_clock() {
    let ms = Duration::from_millis;
    let slow = reply()
        .text("abcd")
        .wait(ms(1000))
        .reasoning("ef")
        .chunks(Cut::Every(1))
        .delay(ms(100))
        .chunk_delay(ms(10));
    let model = MockModel::in_order([slow]);
    let (deltas, took) = paused(elapsed(deltas(&model, says("go"))));
    assert_eq!(deltas.len(), 7);
    assert_eq!(took, ms(100 + 3 * 10 + 1000 + 10));
}

#[test]
fn arguments_add_up() {
    let more = json!({ "b": 3, "c": 4 });
    let mixed = call("X").arg("a", 1).arg("b", 2).args(more).arg("c", 5);
    assert_eq!(mixed, call("X").args(json!({ "a": 1, "b": 3, "c": 5 })));
}

#[test]
fn a_dropped_stream_is_over() {
    let model = MockModel::in_order([reply().delay(Duration::from_secs(9))]);
    drop(model.stream(says("go")));
    model.verify();
}

/// Reads the reply of a mock as a run does.
fn read(model: &MockModel, format: Format, registry: &Registry) -> Vec<(String, Value)> {
    let registry = Some(std::sync::Arc::new(registry.clone()));
    let mut stage = ReplyStage::new(format, Vec::new(), registry).unwrap();
    let mut out = Vec::new();
    for delta in paused(deltas(model, says("go"))) {
        stage.process(delta, &mut out);
    }
    stage.finish(&mut out);
    let calls = out.into_iter().filter_map(|delta| {
        let Delta::GadgetCall(call) = delta else {
            return None;
        };
        let Parameters::Parsed(parameters) = call.parameters.clone() else {
            panic!("{call:?}");
        };
        let dependencies: Vec<_> = call.dependencies.iter().map(ToString::to_string).collect();
        let header = format!(
            "{} {} {dependencies:?}",
            call.gadget_name, call.invocation_id
        );
        Some((header, parameters))
    });
    calls.collect()
}

#[test]
fn calls_of_known_gadgets_are_written_as_a_model_would() {
    let put = || call("Put").arg("zip", "00501").arg("house", "7");
    let header = "!!!GADGET_START:Put\n";
    let as_json = format!("{header}{{\"zip\":\"00501\",\"house\":\"7\"}}\n!!!GADGET_END\n");
    let stop = end(StopReason::Stop, None);
    check(put(), &[text(&as_json), stop.clone()]);
    let gadget = MockGadget::builder("Put")
        .param("zip", "string")
        .param("house", "string");
    let toolbox = toolbox([gadget.build()]);
    let model = MockModel::builder().gadgets(toolbox.registry());
    let model = model.when(any()).replies(put()).build();
    let as_lines = format!("{header}!!!ARG:zip\n00501\n!!!ARG:house\n7\n!!!GADGET_END\n");
    assert_eq!(paused(deltas(&model, says("go"))), [text(&as_lines), stop]);
}

#[test]
fn calls_are_read_as_they_were_meant() {
    let schema = json!({
        "type": "object",
        "properties": { "zip": { "type": "string" }, "count": { "type": "integer" } },
    });
    let registry = Registry::new([GadgetSpec {
        name: "Put".to_owned(),
        parameters: schema,
        ..GadgetSpec::default()
    }])
    .unwrap();
    let values = [
        json!({}),
        json!({ "zip": "00501", "count": 3 }),
        json!({ "zip": "true" }),
        json!({ "zip": "90210" }),
        json!({ "zip": "!!!ARG:count\n7\n!!!GADGET_END" }),
        json!({ "zip": "  two\n\nlines \n" }),
        json!({ "zip": "" }),
        json!({ "other": { "list": [1, "1", null, { "a/b~c": [] }] } }),
    ];
    let markers = Markers::new("<<<CALL:", "<<<END", "@").unwrap();
    let formats = [
        (Markers::default(), Anchoring::Anywhere),
        (Markers::default(), Anchoring::LineStart),
        (markers, Anchoring::Anywhere),
    ];
    for (markers, anchoring) in formats {
        for known in [false, true] {
            for parameters in &values {
                let put = call("Put")
                    .id("p")
                    .after("x")
                    .after("y")
                    .args(parameters.clone());
                let mut builder = MockModel::builder()
                    .markers(markers.clone())
                    .anchoring(anchoring);
                if known {
                    builder = builder.gadgets(&registry);
                }
                let builder = builder
                    .when(any())
                    .replies(reply().text("Well.").call(put).chunks(Cut::Seeded(1)));
                let format = Format {
                    markers: Some(markers.clone()),
                    anchoring,
                    ..Format::default()
                };
                let read = read(&builder.build(), format, &registry);
                let expected = ("Put p [\"x\", \"y\"]".to_owned(), parameters.clone());
                assert_eq!(read, [expected], "{markers:?} {anchoring:?} {known}");
            }
        }
    }
}
