//! The reader: deltas in, deltas out, a message, and verdicts on calls; saved and copied between any two deltas.

use std::sync::Arc;

use gadgetry_proto::block::Markers;
use gadgetry_proto::call::Call;
use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::message::Content;
use gadgetry_proto::reply::{Format, Reader, ReaderState, Verdict};
use gadgetry_proto::schema::{GadgetSpec, Registry, Unterminated};
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::transform::{DeltaTransform, TransformFactory};
use serde_json::{Value, json};

/// Holds back every text until the next one, or the end.
#[derive(Default)]
struct OneLate(Option<String>);

impl DeltaTransform for OneLate {
    fn process(&mut self, delta: Delta, out: &mut Vec<Delta>) {
        if let Delta::Text { delta: text, .. } = delta {
            out.extend(self.0.replace(text).map(Delta::text));
        } else {
            self.flush(out);
            out.push(delta);
        }
    }

    fn flush(&mut self, out: &mut Vec<Delta>) {
        out.extend(self.0.take().map(Delta::text));
    }

    fn save(&self) -> Value {
        json!(self.0)
    }

    fn load(&mut self, state: &Value) {
        self.0 = state.as_str().map(str::to_owned);
    }
}

fn reader() -> Reader {
    let add = GadgetSpec {
        name: "Add".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "a": { "type": "number" }, "b": { "type": "number", "default": 1 } },
            "required": ["a"],
        }),
        ..GadgetSpec::default()
    };
    let format = Format {
        markers: Some(Markers::default()),
        reasoning: vec!["think".to_owned()],
        ..Format::default()
    };
    let registry = Arc::new(Registry::new([add]).expect("the gadget is well formed"));
    Reader::new(format, vec![CustomBlock::new("note")], registry).expect("tags that differ")
}

fn late() -> Reader {
    let factory: TransformFactory = Arc::new(|| Box::new(OneLate::default()));
    reader().transforms([factory])
}

fn calls(deltas: &[Delta]) -> Vec<Arc<Call>> {
    let mut calls = Vec::new();
    for delta in deltas {
        if let Delta::GadgetCall(call) = delta {
            calls.push(Arc::clone(call));
        }
    }
    calls
}

/// The verdict on the only call of a reply that ends with this reason.
fn verdict(reader: &mut Reader, text: &str, stop_reason: Option<StopReason>) -> Verdict {
    let mut out = Vec::new();
    reader.push(Delta::text(text), &mut out);
    if let Some(stop_reason) = stop_reason {
        let usage = None;
        reader.push(Delta::MessageEnd { stop_reason, usage }, &mut out);
    }
    reader.finish(&mut out);
    let calls = calls(&out);
    let [call] = calls.as_slice() else {
        panic!("{text:?}: {out:#?}");
    };
    reader.check(call)
}

#[test]
fn verdicts() {
    fn check(text: &str, stop_reason: Option<StopReason>, expected: Result<Option<Value>, &str>) {
        let verdict = match verdict(&mut reader(), text, stop_reason) {
            Verdict::Valid(parameters) => Ok(Some(parameters)),
            Verdict::NeedsResults => Ok(None),
            Verdict::Invalid(error) => Err(error),
        };
        let expected = expected.map_err(str::to_owned);
        assert_eq!(verdict, expected, "{text:?}");
    }
    let stop = || Some(StopReason::Stop);
    let whole = |args: &str| format!("!!!GADGET_START:Add\n{args}!!!GADGET_END\n");
    check(
        &whole("!!!ARG:a\n4\n"),
        stop(),
        Ok(Some(json!({ "a": 4, "b": 1 }))),
    );
    check(
        &whole("!!!ARG:a\n4\n"),
        None,
        Ok(Some(json!({ "a": 4, "b": 1 }))),
    );
    check(
        &whole("!!!ARG:a\nfour\n"),
        stop(),
        Err("Error: Invalid parameters for 'Add':\n  - a: expected number, got string \"four\""),
    );
    check(
        &whole("!!!ARG:a/\n1\n!!!ARG:a\n2\n"),
        stop(),
        Err(
            "Error: Failed to parse parameters for 'Add':\n  Conflicting pointer: a (values were already set below it)",
        ),
    );
    check(
        "!!!GADGET_START:Ad\n!!!GADGET_END",
        stop(),
        Err("Error: Gadget 'Ad' not found. Did you mean 'Add'?\n\nAvailable gadgets: Add"),
    );
    check(
        "!!!GADGET_START:Add:b:a\n!!!ARG:a\n${a}\n!!!GADGET_END",
        stop(),
        Ok(None),
    );
    // What is no dependency is a text like any other.
    check(
        "!!!GADGET_START:Add:b\n!!!ARG:a\n${a}\n!!!GADGET_END",
        stop(),
        Err("Error: Invalid parameters for 'Add':\n  - a: expected number, got string \"${a}\""),
    );
    let open = "!!!GADGET_START:Add\n!!!ARG:a\n4\n";
    check(open, stop(), Ok(Some(json!({ "a": 4, "b": 1 }))));
    check(
        open,
        Some(StopReason::MaxTokens),
        Err(
            "Error: The call was not executed: the reply was cut off by the token limit before the block was complete. \
             Write the call again.",
        ),
    );
    check(
        open,
        None,
        Err(
            "Error: The call was not executed: the reply was cut off because the connection ended before the block was \
             complete. Write the call again.",
        ),
    );
}

#[test]
fn the_next_turn_completes_no_call() {
    let mut reader = reader().unterminated(Unterminated::Execute);
    let open = "!!!GADGET_START:Add\n!!!ARG:a\n4\n";
    let refused = verdict(&mut reader, open, Some(StopReason::NextTurn));
    assert!(matches!(refused, Verdict::Invalid(error) if error.contains("at the next turn")));
}

#[test]
fn a_policy_for_calls_without_an_end() {
    let open = "!!!GADGET_START:Add\n!!!ARG:a\n4\n";
    let mut reader = reader().unterminated(Unterminated::Confirm);
    for reason in [
        StopReason::Stop,
        StopReason::StopSequence,
        StopReason::ToolUse,
    ] {
        let refused = verdict(&mut reader, open, Some(reason));
        assert!(
            matches!(refused, Verdict::Invalid(error) if error.contains("before the end marker"))
        );
    }
}

/// A reply with everything in it, one text delta a character.
fn deltas() -> Vec<Delta> {
    let text = "<think>hm</think>Hello!! <note n='1'>x</note> and\n!!!GADGET_START:Add\n!!!ARG:a\n4\n!!!GADGET_END\nBye <th";
    let mut deltas: Vec<Delta> = text.chars().map(|c| Delta::text(c.to_string())).collect();
    let usage = None;
    deltas.insert(30, Delta::Raw { data: json!(1) });
    deltas.push(Delta::MessageEnd {
        stop_reason: StopReason::Stop,
        usage,
    });
    deltas
}

#[test]
fn saved_and_copied_after_every_delta() {
    for make in [reader, late] {
        let (mut whole, mut expected) = (make(), Vec::new());
        for delta in deltas() {
            whole.push(delta, &mut expected);
        }
        let output = whole.finish(&mut expected);
        let text = |content: &Content| matches!(content, Content::Text { text } if text.contains("Hello!! "));
        assert!(output.message.content.iter().any(text), "{output:#?}");

        let (mut saved, mut copied) = (make(), make());
        let (mut of_saved, mut of_copied) = (Vec::new(), Vec::new());
        for delta in deltas() {
            saved.push(delta.clone(), &mut of_saved);
            let state = serde_json::to_string(&saved.state()).expect("it is plain data");
            let state: ReaderState = serde_json::from_str(&state).expect("it was just written");
            saved = make();
            saved.restore(state);

            // What happens to a copy leaves the original as it was.
            let before = copied.state();
            copied.clone().finish(&mut Vec::new());
            assert_eq!(copied.state(), before);
            copied = copied.clone();
            copied.push(delta, &mut of_copied);
        }
        assert_eq!(saved.finish(&mut of_saved), output);
        assert_eq!(copied.finish(&mut of_copied), output);
        assert_eq!(of_saved, expected);
        assert_eq!(of_copied, expected);
    }
}

/// The next reply is read as by a new reader, but for numbers that continue.
#[test]
fn one_reply_after_another() {
    let mut reader = late();
    let mut out = Vec::new();
    for delta in deltas() {
        reader.push(delta, &mut out);
    }
    let first = reader.finish(&mut out);
    out.clear();
    reader.push(Delta::text("Again"), &mut out);
    assert!(out.is_empty());
    let second = reader.finish(&mut out);
    assert_eq!(out, [Delta::text("Again")]);
    assert_eq!(second.message.raw.as_deref(), Some("Again"));
    assert_eq!(first.stop_reason, Some(StopReason::Stop));
    assert_eq!(second.stop_reason, None);
}

/// Text before a closing tag of reasoning becomes reasoning in the message; another diagnostic changes nothing.
#[test]
fn text_before_a_stray_end_of_reasoning_was_reasoning() {
    let format = Format {
        markers: Some(Markers::default()),
        reasoning: vec!["think".to_owned()],
        ..Format::default()
    };
    let reasoning = |text: &str| Content::Reasoning {
        text: text.to_owned(),
    };
    let written = |text: &str| Content::Text {
        text: text.to_owned(),
    };
    for (text, content) in [
        ("Hm.</think>Yes.", vec![reasoning("Hm."), written("Yes.")]),
        ("!!GADGET_START: x", vec![written("!!GADGET_START: x")]),
    ] {
        let registry = Arc::new(Registry::default());
        let mut reader = Reader::new(format.clone(), Vec::new(), registry).expect("good names");
        let mut out = Vec::new();
        reader.push(Delta::text(text), &mut out);
        let output = reader.finish(&mut out);
        assert_eq!(output.message.content, content, "{out:?}");
    }
}

/// The deltas of a block: streamed where it is kept, put together where a function that maps it leaves it as it is.
#[test]
fn the_deltas_of_custom_blocks() {
    let kept = CustomBlock::new("note");
    let mapped = CustomBlock::new("note").map(|_| None);
    for block in [kept, mapped] {
        for (text, kinds) in [
            ("<note>x</note>", "start delta end block"),
            ("<note></note>", "start end block"),
        ] {
            let registry = Arc::new(Registry::default());
            let mut reader =
                Reader::new(Format::default(), vec![block.clone()], registry).expect("a good name");
            let mut out = Vec::new();
            reader.push(Delta::text(text), &mut out);
            reader.finish(&mut out);
            let found = out.iter().map(|delta| {
                let kinds = [
                    (matches!(delta, Delta::CustomBlockStart(_)), "start"),
                    (matches!(delta, Delta::CustomBlockDelta(_)), "delta"),
                    (matches!(delta, Delta::CustomBlockEnd(_)), "end"),
                    (matches!(delta, Delta::CustomBlock(_)), "block"),
                ];
                let kind = kinds.into_iter().find(|(is_it, _)| *is_it);
                kind.map_or("other", |(_, name)| name)
            });
            assert_eq!(found.collect::<Vec<_>>().join(" "), kinds, "{text}");
        }
    }
}
