//! Tags read by a transform of their own.

use std::sync::{Arc, Mutex};

use gadgetry::Agent;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::transform::DeltaTransform;
use gadgetry_providers::adapter::{StreamTagParser, TagHandler};

use super::streaming;

type Told = Arc<Mutex<Vec<String>>>;

fn handler(told: &Told) -> TagHandler {
    let (start, content, closing) = (Arc::clone(told), Arc::clone(told), Arc::clone(told));
    TagHandler::default()
        .on_start(move |attrs| start.lock().unwrap().push(format!("start {}", attrs.len())))
        .on_content(move |text, _| content.lock().unwrap().push(format!("content {text}")))
        .on_self_closing(move |attrs| {
            closing
                .lock()
                .unwrap()
                .push(format!("closing {}", attrs.len()));
        })
}

#[test]
fn handlers_are_called_in_order() {
    let cases: [(&[&str], &str, &[&str]); 4] = [
        (
            &["a<t", "ag k=1>b", "c</tag>d"],
            "ad",
            &["start 1", "content bc"],
        ),
        (&["a<tag k='1'/>b"], "ab", &["start 1", "closing 1"]),
        (&["a<tag>b"], "a", &["start 0", "content b"]),
        (
            &["<<tag>!!!ARG:</tag>"],
            "<",
            &["start 0", "content !!!ARG:"],
        ),
    ];
    for (pieces, text, expected) in cases {
        let told = Told::default();
        let mut parser = StreamTagParser::new([("tag", handler(&told))]).unwrap();
        let mut out = Vec::new();
        for piece in pieces {
            parser.process(Delta::text(*piece), &mut out);
        }
        parser.flush(&mut out);
        assert_eq!(visible(&out), text, "{pieces:?}");
        assert_eq!(*told.lock().unwrap(), expected, "{pieces:?}");
    }
}

#[test]
fn other_deltas_keep_their_place_and_state_is_saved() {
    let told = Told::default();
    let make = || StreamTagParser::new([("tag", handler(&told))]).unwrap();
    let thought = Delta::Reasoning {
        delta: "r".to_owned(),
        metadata: None,
    };
    let mut out = Vec::new();
    let mut parser = make();
    parser.process(Delta::text("a<ta"), &mut out);
    parser.process(thought.clone(), &mut out);
    parser.process(Delta::text("<tag>b"), &mut out);
    let mut other = make();
    other.load(&parser.save());
    other.process(Delta::text("c</tag>d"), &mut out);
    other.flush(&mut out);
    let position = out.iter().position(|delta| *delta == thought).unwrap();
    assert_eq!(visible(&out[..position]), "a<ta");
    assert_eq!(visible(&out[position..]), "d");
    assert_eq!(told.lock().unwrap().last().unwrap(), "content bc");
}

#[tokio::test]
async fn as_a_transform_it_sees_what_custom_blocks_leave() {
    let told = Told::default();
    let seen = Arc::clone(&told);
    let adapter = streaming(vec![Delta::text("a<one>b</one>c<tag>d</tag>e")])
        .custom_block(CustomBlock::new("one"))
        .transform(move || {
            StreamTagParser::new([("tag", handler(&seen)), ("one", handler(&seen))]).unwrap()
        })
        .build();
    let run = Agent::builder().model(adapter).ask("Hi").unwrap();
    let mut ids = Vec::new();
    let finished = run
        .on_event(|event| {
            if let gadgetry_proto::event::EventKind::CustomBlock(block) = &event.kind {
                ids.push((block.tag.clone(), block.block_id));
            }
        })
        .await
        .unwrap();
    assert_eq!(finished.summary.answer, "ace");
    assert_eq!(*told.lock().unwrap(), ["start 0", "content d"]);
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0].1, ids[1].1);
}

fn visible(deltas: &[Delta]) -> String {
    let texts = deltas.iter().filter_map(|delta| match delta {
        Delta::Text { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    texts.collect()
}
