//! Custom blocks and transforms of an adapter, in an agent and without one.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt as _;
use gadgetry::{Agent, AgentError};
use gadgetry_proto::convo::prompt_text;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::error::ModelError;
use gadgetry_proto::event::EventKind;
use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::transform::DeltaTransform;
use gadgetry_providers::adapter::{Adapter, AdapterError, intercepted};

use super::{streaming, whole};

fn suppressed(key: &str) -> CustomBlock {
    let description = format!("What {key} is.");
    CustomBlock::new(key).description(description).suppress()
}

/// Writes a word behind every text, and another at the end.
struct Suffix(&'static str);

impl DeltaTransform for Suffix {
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        match delta {
            Delta::Text { delta, .. } => out.push(Delta::text(format!("{delta}{}", self.0))),
            other => out.push(other),
        }
    }

    fn flush(&mut self, out: &mut Vec<Delta>) {
        out.push(Delta::text(format!("f{}", self.0)));
    }
}

/// Numbers the texts of a reply.
#[derive(Default)]
struct Count(u32);

impl DeltaTransform for Count {
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        self.0 += 1;
        match delta {
            Delta::Text { delta, .. } => out.push(Delta::text(format!("{delta}{}", self.0))),
            other => out.push(other),
        }
    }

    fn flush(&mut self, _: &mut Vec<Delta>) {}
}

#[tokio::test]
async fn the_prompt_lists_all_tags_and_the_models_own_first() {
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&requests);
    let adapter = Adapter::builder("m")
        .prepare_input(move |request| {
            let system = prompt_text(&request.messages[0]).into_owned();
            seen.lock().unwrap().push(system);
        })
        .execute(|()| futures_util::future::ready(Ok::<_, AdapterError>("a<x>b</x><y>c</y>d<z/>")))
        .map_output(|text| [Delta::text(text)])
        .custom_block(suppressed("x"))
        .custom_block(CustomBlock::new("z"))
        .build();
    let agent = Agent::builder()
        .model(adapter)
        .system("Be brief.")
        .custom_block(suppressed("y"));
    assert_eq!(agent.ask("Hi").unwrap().text().await.unwrap(), "ad");
    let requests = requests.lock().unwrap();
    assert!(requests[0].starts_with("Be brief."), "{requests:?}");
    let listing =
        "You can use the following XML tags in your output:\n- <x>: What x is.\n- <y>: What y is.";
    assert!(requests[0].ends_with(listing), "{requests:?}");
}

#[test]
fn a_tag_or_a_key_of_both_is_a_mistake() {
    let tagged = |key: &str, tag: &str| CustomBlock::new(key).tag(tag);
    for own in [CustomBlock::new("x"), tagged("y", "x"), tagged("x", "y")] {
        let adapter = streaming(vec![])
            .custom_block(CustomBlock::new("x"))
            .build();
        let error = Agent::builder()
            .model(adapter)
            .custom_block(own)
            .build()
            .unwrap_err();
        assert!(
            matches!(error, AgentError::CustomBlockOfModel { .. }),
            "{error}"
        );
        let text = error.to_string();
        assert!(text.contains("x (<x>)") && text.contains("\"m\""), "{text}");
    }
    let adapter = streaming(vec![])
        .custom_block(CustomBlock::new("x"))
        .build();
    let agent = Agent::builder()
        .model(adapter)
        .custom_block(tagged("y", "z"));
    assert!(agent.build().is_ok());
}

#[tokio::test]
async fn transforms_of_the_adapter_come_before_those_of_the_agent() {
    let text = || vec![Delta::text("<x>b</x>t")];
    for adapter in [streaming(text()), whole(text())] {
        let adapter = adapter
            .custom_block(suppressed("x"))
            .transform(|| Suffix("1"))
            .transform(|| Suffix("2"))
            .build();
        let agent = Agent::builder().model(adapter).transform(|| Suffix("3"));
        let answer = agent.ask("Hi").unwrap().text().await.unwrap();
        // What an earlier one held goes through the later ones.
        assert_eq!(answer, "t123f123f23f3");
    }
}

#[tokio::test]
async fn every_reply_gets_fresh_transforms() {
    let adapter = streaming(vec![Delta::text("t")])
        .transform(Count::default)
        .build();
    let agent = Agent::builder().model(adapter).build().unwrap();
    for _ in 0..2 {
        assert_eq!(agent.ask("Hi").text().await.unwrap(), "t1");
    }
}

#[tokio::test]
async fn thoughts_stream_as_reasoning() {
    let pieces = ["a<thi", "nk>so ", "it is</think>", "b"];
    let adapter = streaming(pieces.map(Delta::text).to_vec()).custom_block(CustomBlock::think());
    let mut told = Vec::new();
    let run = Agent::builder().model(adapter.build()).ask("Hi").unwrap();
    run.on_event(|event| match &event.kind {
        EventKind::Reasoning { text } => told.push(format!("({text})")),
        EventKind::Text { text } => told.push(text.clone()),
        _ => {}
    })
    .await
    .unwrap();
    assert_eq!(told, ["a", "(so )", "(it is)", "b"]);
}

#[tokio::test]
async fn one_reply_without_an_agent() {
    let adapter = streaming(vec![Delta::text("a<x>b</x>c<wh")])
        .custom_block(suppressed("x"))
        .transform(|| Suffix("1"))
        .build();
    let request = Request::default().messages(vec![Message::text(Role::User, "Hi")]);
    let deltas: Vec<Delta> = intercepted(&adapter, request).collect().await;
    let (end, texts) = deltas.split_last().unwrap();
    assert!(matches!(end, Delta::MessageEnd { .. }), "{deltas:?}");
    let texts: Vec<String> = texts
        .iter()
        .map(|delta| match delta {
            Delta::Text { delta, .. } => delta.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts.concat(), "a1c<wh1f1");
}

#[tokio::test]
async fn a_tag_registered_twice_is_an_error_of_the_reply() {
    let adapter = streaming(vec![Delta::text("a")])
        .custom_block(CustomBlock::new("x"))
        .custom_block(CustomBlock::new("x"))
        .build();
    let deltas: Vec<Delta> = intercepted(&adapter, Request::default()).collect().await;
    let [Delta::Error(ModelError { message: error, .. })] = &deltas[..] else {
        panic!("{deltas:?}");
    };
    assert_eq!(
        error,
        "the custom blocks of the model \"m\": the tag <x> is registered twice"
    );
    let error = Agent::builder().model(adapter).build().unwrap_err();
    assert_eq!(error.to_string(), "the tag <x> is registered twice");
}
