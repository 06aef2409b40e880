//! Calls in other forms: what is read as which call, and what is only text.

use std::fmt::Write as _;

use gadgetry_proto::call::Parameters;
use gadgetry_proto::dialect::{Dialect, find};
use gadgetry_proto::limits::Limits;
use gadgetry_proto::schema::{GadgetSpec, Registry};
use serde_json::json;

fn registry() -> Registry {
    let calc = GadgetSpec {
        name: "Calc".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "a": { "type": "integer" }, "text": { "type": "string" }, "on": { "type": "boolean" } },
        }),
        ..GadgetSpec::default()
    };
    let files = GadgetSpec {
        name: "files.list".to_owned(),
        ..GadgetSpec::default()
    };
    Registry::new([calc, files]).expect("two gadgets")
}

/// A text, and the calls in it: dialect, name, parameters, and `cut` if the form has no end.
type Row<'a> = (&'a str, &'a [&'a str]);

#[track_caller]
fn check(rows: &[Row<'_>]) {
    let registry = registry();
    let mut wrong = String::new();
    for (text, expected) in rows {
        let calls = find(text, &registry, &Limits::default());
        let found: Vec<String> = calls
            .iter()
            .map(|call| {
                let parameters = match &call.parameters {
                    Parameters::Parsed(parameters) => parameters.to_string(),
                    Parameters::Malformed(_) => "malformed".to_owned(),
                };
                let cut = if call.is_whole { "" } else { " cut" };
                format!("{} {} {parameters}{cut}", call.dialect, call.gadget_name)
            })
            .collect();
        if found != *expected {
            let _ = write!(
                wrong,
                "\n{text:?}\n  expected {expected:#?}\n  found    {found:#?}"
            );
        }
        for call in &calls {
            assert!(text.get(call.range.clone()).is_some(), "{text:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The prefix that Anthropic's models know.
const PREFIX: &str = "ant\u{6d}l:";

#[test]
fn every_form() {
    let prefixed = format!(
        "<{PREFIX}function_calls>\n<{PREFIX}invoke name=\"Calc\">\n<{PREFIX}parameter name=\"a\">1</{PREFIX}parameter>\n\
         </{PREFIX}invoke>\n</{PREFIX}function_calls>"
    );
    check(&[
        (
            "Well.\n<tool_call>\n{\"name\": \"Calc\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>{\"name\":\"Nope\"}</tool_call>",
            &[r#"hermes Calc {"a":1}"#, "hermes Nope {}"],
        ),
        (
            r#"<tool_call>{"type":"function","function":{"name":"calc","arguments":"{\"a\": \"1\"}"}}</tool_call>"#,
            &[r#"hermes calc {"a":1}"#],
        ),
        (
            "<tool_call>\n<function=Calc>\n<parameter=a>\n1\n</parameter>\n<parameter=text>\n1\n2\n</parameter>\n</function>\n</tool_call>",
            &[r#"qwen-coder Calc {"a":1,"text":"1\n2"}"#],
        ),
        (
            "<function=files.list></function>",
            &["qwen-coder files.list {}"],
        ),
        (
            r#"[TOOL_CALLS][{"name": "Calc", "arguments": {"a": 1}}, {"name": "Calc", "arguments": {"a": 2}}]"#,
            &[r#"mistral Calc {"a":1}"#, r#"mistral Calc {"a":2}"#],
        ),
        (
            r#"[TOOL_CALLS]Calc[ARGS]{"a": 1}[TOOL_CALLS]Calc[CALL_ID]x1[ARGS]{"a": 2}[TOOL_CALLS] Calc{"text": "}"}"#,
            &[
                r#"mistral Calc {"a":1}"#,
                r#"mistral Calc {"a":2}"#,
                r#"mistral Calc {"text":"}"}"#,
            ],
        ),
        (
            r#"{"name": "Calc", "parameters": {"a": 1}}"#,
            &[r#"llama Calc {"a":1}"#],
        ),
        (
            "I call it.\n  <|python_tag|>{\"type\": \"function\", \"name\": \"Calc\", \"parameters\": {\"a\": 1}}\nThen.",
            &[r#"llama Calc {"a":1}"#],
        ),
        (
            "<function_calls>\n<invoke name=\"Calc\">\n<parameter name=\"a\">1</parameter>\n<parameter name=\"text\">a < b</parameter>\n</invoke>\n</function_calls>",
            &[r#"anthropic Calc {"a":1,"text":"a < b"}"#],
        ),
        (&prefixed, &[r#"anthropic Calc {"a":1}"#]),
        (
            "Here:\n```json\n{\"name\": \"Calc\", \"arguments\": {\"a\": 1,}}\n```\nDone.",
            &[r#"fenced-json Calc {"a":1}"#],
        ),
        (
            "```tool_call\n[{\"action\": \"Calc\", \"action_input\": {\"a\": 1}}]\n```",
            &[r#"fenced-json Calc {"a":1}"#],
        ),
        (
            "<Calc>\n  <a>1</a>\n  <text>\nx\n</text>\n</Calc>\n<Calc></Calc>",
            &[r#"xml Calc {"a":1,"text":"x"}"#, "xml Calc {}"],
        ),
        (
            "Calc(a=1, text='it\\'s', on=True)\nCalc()\n[Calc(a=1), Calc(a=2)]",
            &[
                r#"python Calc {"a":1,"text":"it's","on":true}"#,
                "python Calc {}",
                r#"python Calc {"a":1}"#,
                r#"python Calc {"a":2}"#,
            ],
        ),
    ]);
}

#[test]
fn what_has_no_end() {
    check(&[
        (
            r#"<tool_call>{"name": "Calc", "arguments": {"a": 1}}"#,
            &[r#"hermes Calc {"a":1} cut"#],
        ),
        (
            r#"<tool_call>{"name": "Calc", "arguments": {"a": 1"#,
            &["hermes Calc malformed cut"],
        ),
        (
            "<function=Calc><parameter=text>rm -rf bu",
            &[r#"qwen-coder Calc {"text":"rm -rf bu"} cut"#],
        ),
        (
            r#"[TOOL_CALLS][{"name": "Calc", "arguments": {"a": 1}}"#,
            &["mistral Calc malformed cut"],
        ),
        (
            r#"[TOOL_CALLS]Calc[ARGS]{"a": 1"#,
            &["mistral Calc malformed cut"],
        ),
        (
            r#"{"name": "Calc", "parameters": {"a": 1}"#,
            &["llama Calc malformed cut"],
        ),
        (
            "<invoke name=\"Calc\"><parameter name=\"text\">rm",
            &[r#"anthropic Calc {"text":"rm"} cut"#],
        ),
        (
            "```json\n{\"name\": \"Calc\", \"arguments\": {\"a\": 1}}",
            &[r#"fenced-json Calc {"a":1} cut"#],
        ),
        ("<Calc><a>1</a><text>rm", &[r#"xml Calc {"a":1} cut"#]),
        ("Calc(a=1, text='rm", &[]),
    ]);
}

#[test]
fn what_is_only_text() {
    check(&[
        ("", &[]),
        (
            "Write `<tool_call>{\"name\": \"Calc\"}</tool_call>` to call it.",
            &[],
        ),
        ("You can use Calc(a=1) here, or call Calc.", &[]),
        (
            "Calc(a, b) adds.\nCalc(a=x)\nCalc(b=1)\nCalc(a=1) adds one.\nOther(a=1)",
            &[],
        ),
        (
            "{\"name\": \"Anna\", \"parameters\": {}}\n{\"name\": \"Calc\"}",
            &[],
        ),
        (
            "```json\n{\"name\": \"Anna\", \"arguments\": {}}\n```\n```\nCalc adds.\n```",
            &[],
        ),
        (
            "<Calc> is a gadget.\n<b>Calc</b>\n<Calc><z>1</z></Calc>",
            &[],
        ),
        (
            "<tool_call>Calc</tool_call> <function=> <invoke name=\"\"> [TOOL_CALLS] none",
            &[],
        ),
        (
            "An object {\"name\": \"Calc\", \"parameters\": {}} within a line.",
            &[],
        ),
        ("é<tool_callé\n[é\n{é\n`é\n<é>", &[]),
    ]);
}

#[test]
fn names_of_dialects() {
    for dialect in Dialect::ALL {
        assert_eq!(dialect.name().parse(), Ok(dialect));
    }
    let error = "gpt"
        .parse::<Dialect>()
        .expect_err("there is no such dialect");
    for dialect in Dialect::ALL {
        assert!(error.to_string().contains(dialect.name()), "{error}");
    }
}

/// Texts that are made to be slow. There is no clock here: a search that is not linear makes this take minutes.
#[test]
fn hostile_texts() {
    let registry = registry();
    for unit in [
        "<tool_call>",
        "<tool_call>{\"name\":\"Calc\",\"arguments\":{",
        "<tool_call>{\"name\":\"Calc\"}</tool_call>",
        "<function=Calc>",
        "<function=Calc><parameter=a>",
        "<parameter=a>",
        "[TOOL_CALLS][",
        "[TOOL_CALLS]Calc{",
        "[",
        "<",
        "{\"name\":\"Calc\",\"parameters\":\n",
        "{\"name\":\"Calc\",\"parameters\":{}}\n",
        "<invoke name=\"Calc\">",
        "```json\n{\"name\":\"Calc\",\"arguments\":",
        "```\n",
        "<Calc>\n",
        "<Calc><a>",
        "<Calc><a></a>\n",
        "Calc(",
        "Calc(a='\n",
        "Calc(a=1,\n",
        "[Calc(a=1),\n",
        "\n",
        " ",
    ] {
        for head in [
            "",
            "<function=Calc>",
            "<tool_call>{\"name\":\"Calc\",\"arguments\":[",
            "<Calc>",
            "Calc(text='",
        ] {
            let text = format!("{head}{}", unit.repeat(100_000 / unit.len()));
            let calls = find(&text, &registry, &Limits::default());
            assert!(calls.len() <= Limits::default().calls_per_reply);
        }
    }
}
