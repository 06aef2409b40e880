//! What holds for every form of calls, however the stream is cut: faithful values, order, no marker in the text, no call that
//! was cut off, none in reasoning.
//!
//! The forms are rows of `corpus/dialects.json`; the gateway checks the same ones.

use gadgetry_proto::dialect::{CustomDialect, Dialects};
use gadgetry_proto::event::EventKind;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::dialect_gate::{in_any_pieces, through};
use crate::support::sim::script::{Piece, Reply, Script, gadget};
use crate::support::sim::{Log, play};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) dialect: String,
    /// How a text is written in it: as JSON, or as it is.
    pub(crate) encoding: String,
    pub(crate) form: String,
    /// What ends the call, if something follows that may be missing; `{n}` if that is its JSON.
    #[serde(default)]
    end: String,
    /// Whether no wrapper marks it.
    #[serde(default)]
    bare: bool,
}

impl Row {
    pub(crate) fn call(&self, text: &str, number: &str) -> String {
        let written = if self.encoding == "json" {
            Value::from(text).to_string()
        } else {
            text.to_owned()
        };
        self.form
            .replacen("{n}", number, 1)
            .replacen("{text}", &written, 1)
    }
}

pub(crate) fn rows() -> Vec<Row> {
    serde_json::from_str(include_str!("../../../corpus/dialects.json")).expect("the rows")
}

pub(crate) fn dialects() -> Dialects {
    let mut all = Dialects::all();
    let custom = json!({
        "name": "mine", "before": "[[call", "name-before": "", "name-after": "]]", "after": "[[end]]",
        "arguments": {"pairs": {"key-before": "[", "key-after": "]", "value-after": "[/]"}},
    });
    let custom: CustomDialect = serde_json::from_value(custom).expect("the form");
    all.define(custom).expect("it is right");
    all
}

const TEXTS: [&str; 12] = [
    "plain",
    "Zoë, 東京 and 🎉",
    "a \"quoted\" and 'single' \\ backslash",
    "two\nlines",
    "</tool_call><tool_call>",
    "<|tool_call_end|><|call|>",
    "</function></invoke>[TOOL_CALLS]",
    "{\"name\": \"Calc\", \"arguments\": {}}",
    "`ticks` and ```\nfences",
    "}}]) <｜tool▁call▁end｜>",
    "<think>no</think>",
    "Calc(text=\"x\")",
];

const NUMBERS: [&str; 4] = ["1", "-9007199254740993", "18446744073709551615", "0.1"];

#[test]
fn values_are_what_was_written() {
    let dialects = dialects();
    for row in rows() {
        for (index, text) in TEXTS.iter().enumerate() {
            let number = NUMBERS[index % NUMBERS.len()];
            let reply = format!("One.\n{}", row.call(text, number));
            let expected = format!("One.\n«{{\"n\":{number},\"text\":{}}}»", Value::from(*text));
            let shown = in_any_pieces(&reply, &dialects);
            let order = format!("One.\n«{{\"text\":{},\"n\":{number}}}»", Value::from(*text));
            assert!(
                shown == expected || shown == order,
                "{}: {reply}\n  {shown}",
                row.dialect
            );
        }
    }
}

#[test]
fn order_is_kept_and_no_marker_is_shown() {
    let dialects = dialects();
    for row in rows() {
        let (first, second) = (row.call("a", "1"), row.call("b", "2"));
        // Text between two bare forms makes the first a quotation; the reply ends some forms.
        let between = if row.bare
            || row.form.starts_with("[TOOL_CALLS]")
            || row.form.starts_with("<|python_tag")
        {
            ""
        } else {
            "Two.\n"
        };
        let shown = in_any_pieces(&format!("One.\n{first}\n{between}{second}"), &dialects);
        let parts: Vec<String> = shown
            .split(['«', '»'])
            .map(|part| part.trim().to_owned())
            .collect();
        let texts: Vec<&str> = parts.iter().step_by(2).map(String::as_str).collect();
        assert_eq!(
            texts,
            ["One.", between.trim(), ""],
            "{}: {shown}",
            row.dialect
        );
        let calls: Vec<Value> = parts
            .iter()
            .skip(1)
            .step_by(2)
            .map(|it| serde_json::from_str(it).expect("JSON"))
            .collect();
        assert_eq!(
            calls,
            [json!({"text": "a", "n": 1}), json!({"text": "b", "n": 2})],
            "{}",
            row.dialect
        );
    }
}

#[test]
fn a_call_that_was_cut_off_is_not_executed_and_shows_no_marker() {
    let dialects = dialects();
    for row in rows() {
        let call = row.call("abc", "123");
        for (at, _) in call.char_indices() {
            let reply = format!("One.\n{}", &call[..at]);
            let whole = through([reply.as_str()].into_iter(), &dialects);
            let shown = through(reply.split_inclusive(|_| true), &dialects);
            assert_eq!(shown, whole, "{reply:?}");
            let rest = shown
                .strip_prefix("One.\n")
                .unwrap_or_else(|| panic!("{shown}"));
            let end = if row.end == "{n}" { "123" } else { &row.end };
            let is_ended = !end.is_empty() && call[..at].contains(end);
            let wholes = [r#"«{"n":123,"text":"abc"}»"#, r#"«{"text":"abc","n":123}»"#];
            let is_whole = is_ended && wholes.contains(&rest);
            let is_begun = ["", "«cut»", "«begun»"].contains(&rest);
            // A few characters that prose may end with, and forms that begin like prose.
            let is_text = call.starts_with(rest) && (rest.len() < 6 || row.bare);
            assert!(
                is_whole || is_begun || is_text,
                "{} at {at}: {rest:?}",
                row.dialect
            );
        }
    }
}

fn run(reply: &str, size: usize) -> Log {
    let ends: Vec<usize> = reply
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .collect();
    let mut from = 0;
    let pieces = ends.chunks(size).map(|chunk| {
        let piece = &reply[from..chunk[chunk.len() - 1]];
        from += piece.len();
        Piece::Text(piece.to_owned())
    });
    let calc = gadget("Calc")
        .takes_parameters(&json!({ "text": { "type": "string" }, "n": { "type": "number" } }))
        .answers(|start| start.parameters.to_string());
    let script = Script::default()
        .gadget(calc)
        .with(|spec| spec.dialects = dialects());
    play(&script.replies(Reply::stop(pieces.collect())))
}

fn shown(log: &Log) -> String {
    let mut texts = String::new();
    for event in log.events() {
        if let EventKind::Text { text } = &event.kind {
            texts.push_str(text);
        }
    }
    texts
}

/// The same through a whole run: the reply is executed, goes back as it was written, and its calls are not shown.
#[test]
fn a_run_executes_each_form_and_hides_it() {
    for row in rows() {
        let text = TEXTS[5];
        let reply = format!("One.\n{}\n{}", row.call(text, "1"), row.call("b", "2"));
        for size in [1, 7, 1_000] {
            let log = run(&reply, size);
            let told: Vec<Value> = log
                .told()
                .iter()
                .map(|(_, told)| serde_json::from_str(told).expect("JSON"))
                .collect();
            let expected = [json!({"text": text, "n": 1}), json!({"text": "b", "n": 2})];
            assert_eq!(told, expected, "{} {size}: {reply}", row.dialect);
            assert_eq!(
                shown(&log).replace("fin", "").trim(),
                "One.",
                "{} {size}",
                row.dialect
            );
            let written = log.history[log.opening.len()].raw.as_deref();
            assert_eq!(written, Some(reply.as_str()), "{}", row.dialect);
        }
        let thought = format!("<think>{}</think>Done.", row.call("a", "1"));
        assert_eq!(run(&thought, 1).told(), [], "{}", row.dialect);
    }
    let thought = "<|channel|>analysis<|message|><tool_call>{\"name\":\"Calc\"}</tool_call><|end|><|start|>assistant\
                   <|channel|>final<|message|>Done.<|return|>";
    let log = run(thought, 1);
    assert_eq!((log.told().len(), shown(&log).as_str()), (0, "Done."));
}

#[test]
fn a_definition_is_checked_when_it_is_read() {
    let check = |form: Value, problem: &str| {
        let error = serde_json::from_value::<Dialects>(json!([form])).expect_err("it is wrong");
        assert!(error.to_string().contains(problem), "{error}");
        let error = form
            .to_string()
            .parse::<Dialects>()
            .expect_err("it is wrong");
        assert!(error.to_string().contains(problem), "{error}");
    };
    let form = |field: &str, value: Value| {
        let mut form = json!({"name": "mine", "before": "<call>", "after": "</call>"});
        form[field] = value;
        form
    };
    check(form("name", "a b".into()), "`name` that is not letters");
    check(form("name", "hermes".into()), "`name` that is taken");
    check(form("before", "".into()), "has a blank `before`");
    check(form("before", "it".into()), "it must not occur in prose");
    check(form("before", "call".into()), "it must not occur in prose");
    check(form("after", " ".into()), "has a blank `after`");
    check(form("after", "<call>".into()), "the same text as `before`");
    check(
        form("after", "x".repeat(65).into()),
        "`after` of more than 64 bytes",
    );
    check(form("name-after", ":".into()), "no `name-before`");
    check(form("befor", "x".into()), "unknown field `befor`");
    check(form("arguments", "yaml".into()), "unknown variant `yaml`");
    let pairs = json!({"pairs": {"key-before": "<k>", "key-after": "</k>", "value-after": ""}});
    check(form("arguments", pairs), "needs `name-before`");
    let twice = json!([form("name", "a".into()), form("name", "a".into())]);
    let error = serde_json::from_value::<Dialects>(twice).expect_err("it is there twice");
    assert!(error.to_string().contains("defined twice"), "{error}");
    let mixed = r#"hermes, {"name":"mine","before":"<call>","after":"</call>"}, xml"#;
    let dialects: Dialects = mixed.parse().expect("it is right");
    assert_eq!(dialects.to_string(), "hermes,xml,mine");
    let stored = serde_json::to_string(&dialects).expect("it can be stored");
    assert_eq!(
        serde_json::from_str::<Dialects>(&stored).expect("it can be read"),
        dialects
    );
    let old: Dialects = serde_json::from_str(r#"["qwenCoder", "fencedJson"]"#).expect("old names");
    assert_eq!(old.to_string(), "qwen-coder,fenced-json");
}

/// A form that a configuration defines, with JSON.
#[test]
fn a_definition_with_json() {
    for form in [
        json!({"name": "mine", "before": "⟦call", "after": "⟧"}),
        json!({"name": "mine", "before": "⟦call", "name-before": "name=", "name-after": ":", "after": "⟧"}),
    ] {
        let dialects: Dialects = serde_json::from_value(json!([form])).expect("it is right");
        let call = if form.get("name-before").is_some() {
            "⟦call name=Calc:{\"text\": \"⟧\", \"n\": 1}⟧"
        } else {
            "⟦call {\"name\": \"Calc\", \"arguments\": {\"text\": \"⟧\", \"n\": 1}}⟧"
        };
        let shown = in_any_pieces(&format!("One. {call}{call}"), &dialects);
        let one = "«{\"text\":\"⟧\",\"n\":1}»";
        let sorted = "«{\"n\":1,\"text\":\"⟧\"}»";
        assert_eq!(shown.replace(one, sorted), format!("One. {sorted}{sorted}"));
        let quoted = format!("Write `{call}` to call.");
        assert_eq!(in_any_pieces(&quoted, &dialects), quoted);
        let cut = in_any_pieces(&format!("One. {}", &call[..call.len() - 4]), &dialects);
        assert_eq!(cut, "One. «cut»");
    }
}
