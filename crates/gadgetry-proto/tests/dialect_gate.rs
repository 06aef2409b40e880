//! Calls in other forms while the text streams: what is shown, what is called, and that the cut of the stream is no matter.

use std::fmt::Write as _;

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::call::Parameters;
use gadgetry_proto::dialect::{Dialect, Dialects, Gate, GateRules, Gated};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::schema::{GadgetSpec, Registry};
use serde_json::{Value, json};

pub(crate) fn registry() -> Registry {
    let calc = GadgetSpec {
        parameters: json!({
            "type": "object",
            "properties": { "a": { "type": "integer" }, "text": { "type": "string" }, "n": { "type": "number" } },
        }),
        ..GadgetSpec::new("Calc", "")
    };
    Registry::new([calc]).expect("the name is valid")
}

/// The text that comes out of these pieces, with `«call»` for calls and `‹thought›` for reasoning.
pub(crate) fn through<'t>(pieces: impl Iterator<Item = &'t str>, dialects: &Dialects) -> String {
    let registry = registry();
    let rules = GateRules {
        dialects,
        registry: &registry,
        limits: &Limits::default(),
        anchoring: Anchoring::Anywhere,
    };
    let mut gate = Gate::default();
    let mut out = Vec::new();
    for piece in pieces {
        gate.push(piece, &rules, &mut out);
        // What is stored and read again is the same.
        let stored = serde_json::to_string(&gate).expect("it can be stored");
        gate = serde_json::from_str(&stored).expect("it can be read");
    }
    gate.finish(false, &rules, &mut out);
    let mut shown = String::new();
    let mut thought = String::new();
    for piece in out {
        if let Gated::Reasoning(text) = &piece {
            thought.push_str(text);
            continue;
        }
        if !thought.is_empty() {
            let _ = write!(shown, "‹{thought}›");
            thought.clear();
        }
        match piece {
            Gated::Text(text) => shown.push_str(&text),
            Gated::Call(call, _) if !call.is_whole => shown.push_str("«cut»"),
            Gated::Call(call, _) => match call.parameters {
                Parameters::Parsed(parameters) => drop(write!(shown, "«{parameters}»")),
                Parameters::Malformed(problem) => drop(write!(shown, "«{problem}»")),
            },
            Gated::Cut(_) => shown.push_str("«begun»"),
            Gated::Reasoning(_) | Gated::Opening(_) | Gated::Closing(_) => {}
        }
    }
    if !thought.is_empty() {
        let _ = write!(shown, "‹{thought}›");
    }
    shown
}

/// The same in pieces of every size.
pub(crate) fn in_any_pieces(text: &str, dialects: &Dialects) -> String {
    let ends: Vec<usize> = text
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .collect();
    let whole = through([text].into_iter(), dialects);
    for size in (1..ends.len()).filter(|size| *size < 9 || size % 7 == 0) {
        let mut from = 0;
        let cuts = ends.chunks(size).map(|chunk| {
            let piece = &text[from..chunk[chunk.len() - 1]];
            from += piece.len();
            piece
        });
        assert_eq!(
            through(cuts, dialects),
            whole,
            "{text:?} in pieces of {size}"
        );
    }
    whole
}

#[test]
fn forms_become_calls_and_text_stays() {
    let dialects: Dialects = Dialect::ALL[..6].iter().copied().collect();
    let check = |text: &str, expected: &str| {
        assert_eq!(in_any_pieces(text, &dialects), expected, "{text}");
    };
    let one = json!({"a": 1});
    let call = |arguments: &str| json!({"name": "Calc", arguments: one}).to_string();
    let json = call("arguments");
    check("plain <b>text</b> [x] {y}\n", "plain <b>text</b> [x] {y}\n");
    check(
        &format!("Yes.\n<tool_call>\n{json}\n</tool_call>"),
        "Yes.\n«{\"a\":1}»",
    );
    check(
        &format!("<tool_call>{json}</tool_call>\n<tool_call>{json}</tool_call> after"),
        "«{\"a\":1}»\n«{\"a\":1}» after",
    );
    check(
        &format!("`<tool_call>{json}</tool_call>`"),
        &format!("`<tool_call>{json}</tool_call>`"),
    );
    check(
        "<tool_call>\n<function=Calc>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
        "«{\"a\":1}»",
    );
    check(&format!("[TOOL_CALLS][{json}]"), "«{\"a\":1}»");
    check(&call("parameters"), "«{\"a\":1}»");
    check(
        &format!("<|python_tag|>{}", call("parameters")),
        "«{\"a\":1}»",
    );
    check(
        &format!("Look:\n```json\n{json}\n```\n"),
        "Look:\n«{\"a\":1}»",
    );
    // Text on both sides quotes what no wrapper marks.
    let quoted = format!("Look:\n```json\n{json}\n```\nDone.");
    check(&quoted, &quoted);
    let function = |arguments: Value| json!({"id": "c", "type": "function", "function": {"name": "Calc", "arguments": arguments}});
    let list = json!({"tool_calls": [function("{\"a\": 1}".into()), function(json!({"a": 2}))]});
    let both = "«{\"a\":1}»«{\"a\":2}»";
    check(&list.to_string(), both);
    check(&format!("```json\n{list:#}\n```"), both);
    check(&format!("<tool_call>{list}</tool_call>"), both);
    let answer = json!({"role": "assistant", "tool_calls": list["tool_calls"]});
    check(&answer.to_string(), both);
    let empty = "{\"tool_calls\": []}";
    check(empty, empty);
    check("```json\n{\"x\": 1}\n```\n", "```json\n{\"x\": 1}\n```\n");
    check(
        "```rust\nfn main() {}\n```\n",
        "```rust\nfn main() {}\n```\n",
    );
    check(
        "{\"name\": \"Ada\"}\nis a person",
        "{\"name\": \"Ada\"}\nis a person",
    );
    check("a < b and b <", "a < b and b <");
    check(
        "{\"name\": \"Calc\", \"parameters\": {\"t\": \"} \\\" {\"}} x",
        "«{\"t\":\"} \\\" {\"}» x",
    );
}

#[test]
fn dialects_that_are_off_stay_text() {
    let text = json!({"name": "Calc", "parameters": Value::Null}).to_string();
    assert_eq!(in_any_pieces(&text, &[Dialect::Hermes].into()), text);
    assert_eq!(in_any_pieces(&text, &Dialects::default()), text);
    let inner = "<function=Calc><parameter=t><tool_call>{\"name\":\"Calc\"}</tool_call></parameter></function>";
    assert_eq!(in_any_pieces(inner, &[Dialect::Hermes].into()), inner);
}

#[test]
fn text_that_cannot_be_a_call_is_not_kept_back() {
    let registry = registry();
    let dialects = Dialects::all();
    let rules = GateRules {
        dialects: &dialects,
        registry: &registry,
        limits: &Limits::default(),
        anchoring: Anchoring::Anywhere,
    };
    let mut gate = Gate::default();
    let mut out = Vec::new();
    for text in [
        "{\"temperature\": ",
        "```json\n{\"temperature\": ",
        "a < b, ",
        "<b>bold",
        "Canada is",
    ] {
        gate.push(text, &rules, &mut out);
        assert_eq!(out, [Gated::Text(text.to_owned())], "{text}");
        gate.finish(false, &rules, &mut out);
        out.clear();
    }
}

/// What is between the calls of one form, and around them, is not shown.
#[test]
fn several_calls_in_one_form() {
    let check = |text: &str, expected: &str| {
        assert_eq!(in_any_pieces(text, &Dialects::all()), expected, "{text}");
    };
    let (one, two) = ("«{\"a\":1}»", "«{\"a\":2}»");
    let both = format!("{one}{two}");
    check("[Calc(a=1)]", one);
    check("[Calc(a=1), Calc(a=2)]", &both);
    check(
        "Well.\n[Calc(a=1),\n Calc(a=2)]\n",
        &format!("Well.\n{both}"),
    );
    check(
        "[Calc(a=1), Calc(a=2)] are two.",
        "[Calc(a=1), Calc(a=2)] are two.",
    );
    let json = |a: u32| json!({"name": "Calc", "parameters": {"a": a}}).to_string();
    let (first, second) = (json(1), json(2));
    check(&format!("{first};{second}"), &both);
    check(&format!("{first}; {second}\n"), &format!("{both}\n"));
    check(
        &format!("Well.\n{first}; {second}"),
        &format!("Well.\n{both}"),
    );
    check(
        &format!("<|python_tag|>{first};<|python_tag|>{second}"),
        &both,
    );
    check(&format!("<|python_tag|>{first}; {second}"), &both);
    check(
        &format!("{first}; and {second}"),
        &format!("{one}; and {second}"),
    );
    check(
        &format!("{first}; {{\"b\": 1}}"),
        &format!("{one}; {{\"b\": 1}}"),
    );
}
