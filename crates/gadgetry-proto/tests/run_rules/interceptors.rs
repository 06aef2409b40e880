//! Rewrites of what passes through a run.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test is about a few variants of many"
)]

use std::sync::Arc;

use gadgetry_proto::delta::Delta;
use gadgetry_proto::event::EventKind;
use gadgetry_proto::message::Content;
use gadgetry_proto::run::{AboutCall, Interceptor, QuestionKind, Retry};
use serde_json::{Value, json};

use crate::support::sim::play;
use crate::support::sim::script::{Piece, Reply, Script, block, gadget};
use crate::support::sim::transcript::{check, lines};

/// Adds its name to all that passes.
struct Mark(&'static str);

impl Mark {
    fn on(&self, text: &str) -> String {
        format!("{text}{}", self.0)
    }
}

impl Interceptor for Mark {
    fn delta(&self, delta: Delta) -> Option<Delta> {
        Some(match delta {
            Delta::Text { delta, metadata } if !delta.ends_with('\n') => Delta::Text {
                delta: self.on(&delta),
                metadata,
            },
            other => other,
        })
    }

    fn text(&self, text: String) -> Option<String> {
        Some(self.on(&text).to_uppercase())
    }

    fn reply(&self, text: String) -> String {
        self.on(&text)
    }

    fn parameters(&self, call: &AboutCall, mut parameters: Value) -> Value {
        let before = parameters["key"].as_str().unwrap_or_default();
        parameters["key"] = json!(format!("{before}{}{}", call.gadget_name, self.0));
        parameters
    }

    fn result(&self, call: &AboutCall, text: String) -> String {
        self.on(&format!("{text}{}", call.invocation_id))
    }
}

/// Takes away whatever says `secret`.
struct Silence;

impl Interceptor for Silence {
    fn delta(&self, delta: Delta) -> Option<Delta> {
        let secret = matches!(&delta, Delta::Text { delta, .. } if delta.contains("SECRET"));
        (!secret).then_some(delta)
    }

    fn text(&self, text: String) -> Option<String> {
        (!text.contains("secret")).then_some(text)
    }

    fn reply(&self, text: String) -> String {
        if text.contains("secret") {
            String::new()
        } else {
            text
        }
    }
}

fn with(interceptors: Vec<Arc<dyn Interceptor>>) -> Script {
    let bell = gadget("Bell").answers(|start| start.parameters["key"].to_string());
    Script::default()
        .gadget(bell.takes_parameters(&json!({ "key": { "type": "string" } })))
        .with_code(|code| code.interceptors = interceptors)
}

#[test]
fn all_five_in_order() {
    let script = with(vec![Arc::new(Mark("+")), Arc::new(Mark("-"))])
        .reply("So")
        .reply("never");
    let log = play(&script);
    // Deltas get both marks, then the visible text does, then the whole reply.
    assert_eq!(lines(&log)[1], "0 text SO+-+-");
    assert_eq!(log.history[2].raw.as_deref(), Some("So+-+-"));

    let script = with(vec![Arc::new(Mark("+")), Arc::new(Mark("-"))])
        .reply(block("Bell:a", &[("key", "k")]));
    let log = play(&script);
    let found = lines(&log);
    // The gadget's name as registered; events tell what the gadget said.
    assert!(
        found.contains(&r#"0 start a {"key":"kBell+Bell-"}"#.to_owned()),
        "{found:#?}"
    );
    assert!(
        found.contains(&r#"0 ok a: "kBell+Bell-""#.to_owned()),
        "{found:#?}"
    );
    assert_eq!(log.told(), [("a", r#""kBell+Bell-"a+a-"#)]);
}

#[test]
fn an_interceptor_can_remove_content() {
    let pieces = |text: &str| Piece::Text(text.to_owned());
    let script = with(vec![Arc::new(Silence)]).replies(Reply::stop(vec![
        pieces("One."),
        pieces(&block("Bell:SECRET", &[("key", "k")])),
        pieces("secret"),
        pieces("Two."),
    ]));
    let log = play(&script);
    // The block was never seen; the text was seen by the conversation, until its own rewrite.
    assert_eq!(
        lines(&log),
        [
            "0 ask 1",
            "0 text One.Two.",
            "0 end completed after 1: One.Two."
        ]
    );
}

/// What an interceptor makes of a reply is what a later request sends, also if it is nothing.
#[test]
fn a_removed_reply_is_not_sent() {
    use gadgetry_proto::convo::prompt_text;
    let script = with(vec![Arc::new(Silence)]).replies(Reply::stop(vec![
        Piece::Text("One. ".to_owned()),
        Piece::Text("secret".to_owned()),
        Piece::Text(block("Bell:a", &[("key", "k")])),
    ]));
    let log = play(&script);
    assert_eq!(prompt_text(&log.history[2]), "");
    assert!(
        log.history[2]
            .content
            .iter()
            .any(|it| matches!(it, Content::GadgetCall(_)))
    );
    assert_eq!(log.told(), [("a", "\"k\"")]);
}

/// Gives these parameters to every call.
struct Give(Value);

impl Interceptor for Give {
    fn parameters(&self, _: &AboutCall, _: Value) -> Value {
        self.0.clone()
    }
}

#[test]
fn changed_parameters_are_completed_and_validated_once_more() {
    let invalid = "0 error a: Error: Invalid parameters for 'Bell':";
    for (parameters, begins) in [
        (json!({ "key": "x" }), r#"0 start a {"key":"x","n":7}"#),
        (json!({ "key": "x", "n": "y" }), invalid),
        (json!({}), invalid),
        (json!([]), invalid),
    ] {
        let n = json!({ "type": "integer", "default": 7 });
        let bell = gadget("Bell").takes_parameters(&json!({ "key": { "type": "string" }, "n": n }));
        let script = Script::default()
            .gadget(bell)
            .with_code(|code| code.interceptors = vec![Arc::new(Give(parameters.clone()))])
            .reply(block("Bell:a", &[("key", "k")]) + &block("Bell:b:a", &[("key", "k")]));
        let found = lines(&play(&script));
        assert!(
            found.iter().any(|it| it.starts_with(begins)),
            "{parameters}: {found:#?}"
        );
        let skipped = found.iter().any(|it| it.starts_with("0 skip b (a)"));
        assert_eq!(skipped, begins == invalid, "{found:#?}");
    }
}

/// Whoever decides sees what interceptors have made of it.
#[test]
fn interceptors_come_before_questions() {
    let script = with(vec![Arc::new(Mark("+"))])
        .with(|spec| spec.asks.before_gadget = true)
        .decides(|question| {
            let QuestionKind::BeforeGadget { start } = question else {
                return None;
            };
            assert_eq!(*start.parameters, json!({ "key": "kBell+" }));
            None
        })
        .reply(block("Bell:a", &[("key", "k")]));
    assert_eq!(play(&script).told(), [("a", "\"kBell+\"a+")]);
}

/// Errors, skips and notices are read by the model, too.
#[test]
fn everything_that_the_model_reads_of_calls_passes_through() {
    let reply = block("Nix:a", &[]) + &block("Bell:b:a", &[("key", "k")]);
    let script = with(vec![Arc::new(Mark("+"))]).reply(reply);
    for (id, text) in play(&script).told() {
        assert!(text.ends_with(&format!("{id}+")), "{text}");
    }
    let long = gadget("Long").says(&"x".repeat(100));
    let script = with(vec![Arc::new(Mark("+"))])
        .gadget(long)
        .with(|spec| spec.output_limit = Some(50))
        .reply(block("Long:a", &[]));
    let log = play(&script);
    let told = log.told()[0].1;
    assert!(
        told.starts_with("[Gadget \"Long\" returned too much data") && told.ends_with("a+"),
        "{told}"
    );
}

/// Reads what an interceptor wrote, not what the model did.
#[test]
fn blocks_that_an_interceptor_writes_are_calls() {
    struct Write;
    impl Interceptor for Write {
        fn delta(&self, delta: Delta) -> Option<Delta> {
            Some(match delta {
                Delta::Text { .. } => Delta::text(block("Bell:x", &[("key", "k")])),
                other => other,
            })
        }
    }
    let mut script = with(vec![Arc::new(Write)]).reply("Nothing.");
    script.base.max_iterations = 1;
    check(
        &script,
        &[
            "0 ask 1",
            "0 call x Bell",
            r#"0 start x {"key":"k"}"#,
            r#"0 ok x: "k""#,
            r#"  told Result (x): "k""#,
            "0 end maxIterations after 1: ",
        ],
    );
}

/// A text that an interceptor takes away whole is no event, and its reply is not an empty one of the model.
#[test]
fn a_removed_text_is_not_shown_and_is_not_an_empty_reply() {
    struct Blank;
    impl Interceptor for Blank {
        fn text(&self, _: String) -> Option<String> {
            Some(String::new())
        }
    }
    let interceptors: [Arc<dyn Interceptor>; 2] = [Arc::new(Blank), Arc::new(Silence)];
    for interceptor in interceptors {
        let script = with(vec![interceptor])
            .with(|spec| spec.retry = Some(Retry::default()))
            .reply("secret");
        let log = play(&script);
        let has_text = log
            .events()
            .any(|event| matches!(event.kind, EventKind::Text { .. }));
        assert!(!has_text, "{:#?}", lines(&log));
        assert_eq!(log.requests().len(), 1, "{:#?}", lines(&log));
    }
}
