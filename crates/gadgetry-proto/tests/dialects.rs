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
            "Here:\n```json\n{\"name\": \"Calc\", \"arguments\": {\"a\": 1,}}\n```\n",
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

/// The forms as the templates of the models write them.
#[test]
fn every_form_of_a_template() {
    check(&[
        (
            "<|channel|>analysis<|message|>I add. <tool_call>{\"name\":\"Calc\"}</tool_call><|end|><|start|>assistant<|channel|>commentary \
             to=functions.Calc <|constrain|>json<|message|>{\"a\":1}<|call|>",
            &[r#"harmony Calc {"a":1}"#],
        ),
        (
            "<|start|>assistant to=functions.files.list<|channel|>commentary json<|message|>{}",
            &["harmony files.list {}"],
        ),
        (
            "<|channel|>commentary to=functions.Calc <|constrain|>json<|message|>{\"text\": \"<|call|>\"}<|call|><|channel|>final<|message|>Done.",
            &[r#"harmony Calc {"text":"<|call|>"}"#],
        ),
        (
            "<tool_call>Calc\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>text</arg_key>\n<arg_value>a\n</tool_call> b</arg_value>\n</tool_call>",
            &[r#"glm Calc {"a":1,"text":"a\n</tool_call> b"}"#],
        ),
        (
            "<tool_call>Calc<arg_key>a</arg_key><arg_value>1</arg_value></tool_call><tool_call>files.list</tool_call>",
            &[r#"glm Calc {"a":1}"#, "glm files.list {}"],
        ),
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.Calc:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|>\
             <|tool_call_begin|>functions.files.list:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
            &[r#"kimi Calc {"a":1}"#, "kimi files.list {}"],
        ),
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>Calc\n```json\n{\"a\": 1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            &[r#"deepseek Calc {"a":1}"#],
        ),
        (
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>Calc<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜><｜tool▁call▁begin｜>Calc<｜tool▁sep｜>{\"a\": \
             2}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            &[r#"deepseek Calc {"a":1}"#, r#"deepseek Calc {"a":2}"#],
        ),
        (
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"Calc\">\n<｜DSML｜parameter name=\"a\" string=\"false\">1</｜DSML｜parameter>\n\
             <｜DSML｜parameter name=\"text\" string=\"true\">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
            &[r#"deepseek Calc {"a":1,"text":"5"}"#],
        ),
        (
            "<｜DSML｜tool_calls><｜DSML｜invoke name=\"files.list\"><｜DSML｜parameter name=\"x\" string=\"true\">7</｜DSML｜parameter>\
             </｜DSML｜invoke></｜DSML｜tool_calls>",
            &[r#"deepseek files.list {"x":"7"}"#],
        ),
        (
            "<｜DSML｜ calls><｜DSML｜ invoke name=\"Calc\">{\"a\": 1}</｜DSML｜ invoke></｜DSML｜ calls>",
            &[r#"deepseek Calc {"a":1}"#],
        ),
        (
            "```tool_code\nCalc(a=1)\nprint(default_api.files.list())\n```",
            &[r#"gemma Calc {"a":1}"#, "gemma files.list {}"],
        ),
        (
            "<start_function_call>call:Calc{a:1,text:<escape>a, \"b\"}<escape>}<end_function_call>",
            &[r#"gemma Calc {"a":1,"text":"a, \"b\"}"}"#],
        ),
        (
            "<|tool_call>call:Calc{a:1,text:<|\"|>x<|\"|>}<tool_call|><|tool_call>call:files.list{deep:{list:[1,<|\"|>2<|\"|>,x]}}<tool_call|>",
            &[
                r#"gemma Calc {"a":1,"text":"x"}"#,
                r#"gemma files.list {"deep":{"list":[1,"2","x"]}}"#,
            ],
        ),
        (
            "<|tool_call_start|>[Calc(a=1, text=\"<|tool_call_end|>\"), files.list()]<|tool_call_end|>",
            &[
                r#"lfm2 Calc {"a":1,"text":"<|tool_call_end|>"}"#,
                "lfm2 files.list {}",
            ],
        ),
        (
            r#"<|tool_call_start|>[{"name": "Calc", "arguments": {"a": 1}}]<|tool_call_end|>"#,
            &[r#"lfm2 Calc {"a":1}"#],
        ),
        // The markers of a form in its values are data.
        (
            r#"<tool_call>{"name": "Calc", "arguments": {"text": "</tool_call><tool_call>"}}</tool_call>"#,
            &[r#"hermes Calc {"text":"</tool_call><tool_call>"}"#],
        ),
        (
            "<function=Calc><parameter=text></function><parameter=a></parameter></function>",
            &[r#"qwen-coder Calc {"text":"</function><parameter=a>"}"#],
        ),
        (
            "<invoke name=\"Calc\"><parameter name=\"text\"></invoke></parameter></invoke>",
            &[r#"anthropic Calc {"text":"</invoke>"}"#],
        ),
    ]);
}

#[test]
fn calls_without_an_end_are_read_as_cut_off() {
    check(&[
        (
            "<|channel|>commentary to=functions.Calc<|message|>{\"a\": 1",
            &["harmony Calc malformed cut"],
        ),
        (
            "<|tool_call_begin|>functions.Calc:0<|tool_call_argument_begin|>{\"a\": 1}",
            &[r#"kimi Calc {"a":1} cut"#],
        ),
        (
            "<｜tool▁call▁begin｜>Calc<｜tool▁sep｜>{\"a\": 1}<｜tool",
            &[r#"deepseek Calc {"a":1} cut"#],
        ),
        (
            "<tool_call>Calc<arg_key>a</arg_key><arg_value>1</arg_value>",
            &[r#"glm Calc {"a":1} cut"#],
        ),
        (
            "<tool_call>Calc<arg_key>a</arg_key><arg_value>12",
            &["glm Calc {} cut"],
        ),
        ("<|tool_call>call:Calc{a:1", &["gemma Calc malformed cut"]),
        (
            "<start_function_call>call:Calc{a:1}",
            &[r#"gemma Calc {"a":1} cut"#],
        ),
        ("```tool_code\nCalc(a=1)", &[r#"gemma Calc {"a":1} cut"#]),
        ("```tool_code\nCalc(a=", &["gemma Calc {} cut"]),
        ("<|tool_call_start|>[Calc(a=1)", &["lfm2 Calc {} cut"]),
        (
            "<｜DSML｜invoke name=\"Calc\"><｜DSML｜parameter name=\"a\" string=\"false\">1",
            &[r#"deepseek Calc {"a":1} cut"#],
        ),
    ]);
    what_has_no_end_in_older_forms();
}

fn what_has_no_end_in_older_forms() {
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
fn texts_that_look_like_calls_stay_text() {
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
            "<tool_call>Calc adds</tool_call> <function=> <invoke name=\"\"> [TOOL_CALLS] none",
            &[],
        ),
        (
            "An object {\"name\": \"Calc\", \"parameters\": {}} within a line.",
            &[],
        ),
        (
            "Here:\n```json\n{\"name\": \"Calc\", \"arguments\": {\"a\": 1}}\n```\nis a call.",
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
        "<parameter=",
        "<function=Calc>\n<parameter=",
        "<invoke name=\"Calc\"><parameter name=\"",
        "<parameter name=\"a\"",
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
        "<|channel|>",
        "<|channel|>analysis<|message|>x<|end|>",
        "<|channel|>commentary to=functions.Calc<|message|>{\"a\":",
        "<tool_call>Calc<arg_key>",
        "<tool_call>Calc\n<arg_key>a</arg_key><arg_value>",
        "<|tool_call_begin|>",
        "<|tool_call_begin|>functions.Calc:0<|tool_call_argument_begin|>{",
        "<｜tool▁call▁begin｜>Calc<｜tool▁sep｜>",
        "<｜DSML｜invoke name=\"Calc\">",
        "<｜DSML｜invoke name=\"Calc\"><｜DSML｜parameter name=\"a\" string=\"true\">",
        "```tool_code\nCalc(a=1)\n",
        "<start_function_call>call:Calc{a:<escape>",
        "<|tool_call>call:Calc{{",
        "<|tool_call_start|>[Calc(",
        "\n",
        " ",
    ] {
        for head in [
            "",
            "<function=Calc>",
            "<invoke name=\"Calc\">",
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
