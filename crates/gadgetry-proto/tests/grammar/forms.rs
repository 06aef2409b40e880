//! Choices, prose, and what is refused.

use gadgetry_proto::block::Markers;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::grammar::{GrammarError, GrammarLimits, GrammarSpec, GrammarTool};
use gadgetry_proto::message::ToolChoice;
use serde_json::{Value, json};

use super::shared::{Tools, random};
use crate::support::gbnf::Grammar;

fn tools() -> Tools {
    let add = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let say = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    Tools::new(
        vec![("add".to_owned(), add), ("say".to_owned(), say)],
        Markers::default(),
    )
}

const BLOCK: &str = "!!!GADGET_START:add\n!!!ARG:n\n1\n!!!GADGET_END";
const CALL: &str = "<tool_call>\n{\"name\":\"add\",\"arguments\":{\"n\":1}}\n</tool_call>";
const NAMED: &str = "!!!GADGET_START:say:a_1\n!!!ARG:text\nHi!!!\n!!!GADGET_END";

#[track_caller]
fn check(form: CallForm, choice: &ToolChoice, is_single: bool, rows: &[(&str, bool)]) {
    let text = tools().text(form, choice, is_single);
    let grammar = Grammar::new(&text);
    for (reply, is_admitted) in rows {
        assert_eq!(
            grammar.admits(reply),
            *is_admitted,
            "{reply:?} {choice:?} {form}\n{text}"
        );
    }
}

#[test]
fn a_demanded_call_comes_first() {
    let both = format!("{BLOCK}\n{NAMED}");
    check(
        CallForm::Block,
        &ToolChoice::Required,
        false,
        &[
            (BLOCK, true),
            (&both, true),
            (&format!("{BLOCK}\n"), true),
            ("", false),
            ("I call.", false),
            (&format!("I call.\n{BLOCK}"), false),
            (&format!("{BLOCK}\nDone."), false),
            ("!!!GADGET_START:add\n!!!GADGET_END", false),
            ("!!!GADGET_START:add\n!!!ARG:n\none\n!!!GADGET_END", false),
            (
                "!!!GADGET_START:add\n!!!ARG:n\n1\n!!!ARG:n\n1\n!!!GADGET_END",
                false,
            ),
            ("!!!GADGET_START:add\n!!!ARG:n\n1", false),
            ("!!!GADGET_START:sub\n!!!ARG:n\n1\n!!!GADGET_END", false),
            (
                "!!!GADGET_START:add:a_very_long_id\n!!!ARG:n\n1\n!!!GADGET_END",
                false,
            ),
            (
                "!!!GADGET_START:add\n!!!ARG:n\n1234567890123456\n!!!GADGET_END",
                false,
            ),
            (
                "!!!GADGET_START:say\n!!!ARG:text\n!!GADGET_END:x\n!!!GADGET_END",
                false,
            ),
            (
                "!!!GADGET_START:say\n!!!ARG:text\nHi\nthere\n!!!GADGET_END",
                false,
            ),
        ],
    );
    check(
        CallForm::Block,
        &ToolChoice::Required,
        true,
        &[(BLOCK, true), (&both, false)],
    );
    check(
        CallForm::Block,
        &ToolChoice::Gadget("say".to_owned()),
        false,
        &[(NAMED, true), (BLOCK, false)],
    );
    check(
        CallForm::Json,
        &ToolChoice::Required,
        false,
        &[
            (CALL, true),
            (&format!("{CALL}\n{CALL}"), true),
            // A model that has written a blank there means a value of another type.
            (&CALL.replace("n\":1", "n\": 1"), false),
            (&format!("So:\n{CALL}"), false),
            (
                "<tool_call>\n{\"name\":\"add\",\"arguments\":{}}\n</tool_call>",
                false,
            ),
            (
                "<tool_call>\n{\"name\":\"say\",\"arguments\":{\"text\":\"a</tool_cal>\"}}\n</tool_call>",
                true,
            ),
            (
                "<tool_call>\n{\"name\":\"say\",\"arguments\":{\"text\":\"a</tool_call>\"}}\n</tool_call>",
                false,
            ),
        ],
    );
    check(
        CallForm::Json,
        &ToolChoice::Required,
        true,
        &[(&format!("{CALL}\n{CALL}"), false)],
    );
}

#[test]
fn prose_is_free_but_for_markers() {
    let rows = [
        ("", true),
        ("Hello.\n\nWorld", true),
        ("! Careful\n  indented\n\\backslash", true),
        ("!!!GADGET_START:nothing", false),
        ("Text\n  !!!ARG:n", false),
        ("!!GADGET_END", false),
        ("a\n\\!!!GADGET_END", false),
        ("In a line: !!!GADGET_END", true),
    ];
    check(CallForm::Block, &ToolChoice::Auto, false, &rows);
    check(CallForm::Block, &ToolChoice::None, false, &rows);
    let around = format!("Text\n{BLOCK}\nText\n{NAMED}");
    check(
        CallForm::Block,
        &ToolChoice::Auto,
        false,
        &[(&around, true), (BLOCK, true)],
    );
    check(
        CallForm::Block,
        &ToolChoice::Auto,
        true,
        &[(&around, false), (&format!("Text\n{BLOCK}\n"), true)],
    );
    check(CallForm::Block, &ToolChoice::None, false, &[(BLOCK, false)]);
    let rows = [
        ("a < b </tool_call> <tool_cal>", true),
        ("<tool_call>", false),
        ("x <<tool_call>", false),
        ("  {\"name\":\"add\"}", false),
    ];
    check(CallForm::Json, &ToolChoice::Auto, false, &rows);
    check(CallForm::Json, &ToolChoice::None, false, &rows);
    check(
        CallForm::Json,
        &ToolChoice::Auto,
        false,
        &[(&format!("So:\n{CALL}\nDone."), true)],
    );
    check(CallForm::Json, &ToolChoice::None, false, &[(CALL, false)]);
}

/// Every sentence has as many valid calls as begin in it.
#[test]
fn sentences_of_every_choice_are_read_as_their_calls() {
    let others = Markers::new("call:", "end", "@").expect("markers");
    let mut all = vec![tools(), tools(), tools()];
    all[1].markers = others;
    all[2].markers = Markers::nonce(3);
    for tools in &all {
        for form in CallForm::ALL {
            for choice in [
                ToolChoice::Auto,
                ToolChoice::Required,
                ToolChoice::None,
                ToolChoice::Gadget("say".to_owned()),
            ] {
                let grammar = tools.grammar(form, &choice, false);
                let (mut random, mut calls) = (random(5), 0);
                for _ in 0..2_000 {
                    let text = grammar.text(&mut random);
                    let is_block = form == CallForm::Block;
                    let start = if is_block {
                        tools.markers.start()
                    } else {
                        "<tool_call>"
                    };
                    let begun = text
                        .split('\n')
                        .filter(|line| line.starts_with(start))
                        .count();
                    let read = tools.calls(form, &text);
                    assert!(read.iter().all(Result::is_ok), "{text}\n{read:?}");
                    // Prose that quotes makes a mention of JSON, which has no markers that only the model knows.
                    let may_quote = !is_block && choice.is_auto();
                    assert!(
                        read.len() == begun || may_quote && read.len() < begun,
                        "{text}"
                    );
                    assert!(!choice.is_forced() || begun > 0, "{text}");
                    calls += begun;
                }
                assert_eq!(calls == 0, choice == ToolChoice::None, "{choice:?}");
            }
        }
    }
}

#[test]
fn tools_without_a_grammar_are_errors() {
    let none =
        json!({ "type": "object", "properties": { "a": { "enum": [] } }, "required": ["a"] });
    let names: Vec<String> = (0..9_000)
        .map(|number| format!("a long name of a value, {number:024}"))
        .collect();
    let large = json!({ "type": "object", "properties": { "a": { "enum": names } } });
    let check = |tools: &[(&str, &Value)], choice: ToolChoice, expected: &GrammarError| {
        for form in CallForm::ALL {
            let tools: Vec<_> = tools
                .iter()
                .map(|(name, schema)| GrammarTool {
                    name,
                    schema,
                    multiline: &[],
                })
                .collect();
            let spec = GrammarSpec {
                tools: &tools,
                form,
                markers: &Markers::default(),
                choice: &choice,
                is_single: false,
                limits: GrammarLimits::default(),
            };
            assert_eq!(spec.gbnf().as_ref(), Err(expected));
            assert_eq!(spec.structural_tag().as_ref(), Err(expected));
        }
    };
    check(&[], ToolChoice::Required, &GrammarError::NoTools);
    let unknown = GrammarError::UnknownTool("x".to_owned());
    check(
        &[("t", &none)],
        ToolChoice::Gadget("x".to_owned()),
        &unknown,
    );
    check(
        &[("t", &none)],
        ToolChoice::Required,
        &GrammarError::Unsatisfiable("t".to_owned()),
    );
    check(
        &[("t", &large)],
        ToolChoice::Auto,
        &GrammarError::TooLarge { limit: 256 << 10 },
    );
}

#[test]
fn a_tool_that_cannot_be_called_is_left_out() {
    let good = json!({ "type": "object", "properties": { "a": { "type": ["array", "string"] }, "b": { "type": "object" } } });
    let none = json!({
        "type": "object",
        "properties": { "x": { "type": "array", "items": { "type": "object" } }, "y": { "enum": [] } },
        "required": ["x", "y"],
    });
    let check = |tools: &[(&str, &Value)], left: &[(&str, &Value)]| {
        for (form, choice) in CallForm::ALL
            .into_iter()
            .flat_map(|form| [(form, ToolChoice::Auto), (form, ToolChoice::Required)])
        {
            let grammars = [tools, left].map(|tools| {
                let tools: Vec<_> = tools
                    .iter()
                    .map(|(name, schema)| GrammarTool {
                        name,
                        schema,
                        multiline: &[],
                    })
                    .collect();
                let spec = GrammarSpec {
                    tools: &tools,
                    form,
                    markers: &Markers::default(),
                    choice: &choice,
                    is_single: false,
                    limits: GrammarLimits::default(),
                };
                (spec.gbnf(), spec.structural_tag())
            });
            assert_eq!(grammars[0], grammars[1], "{form} {choice:?}");
            assert!(grammars[0].0.is_ok());
        }
    };
    let (bad, one, two) = (("bad", &none), ("one", &good), ("two", &good));
    check(&[bad, one, two], &[one, two]);
    check(&[one, bad, two], &[one, two]);
    check(&[one, two, bad, bad], &[one, two]);
}

#[test]
fn lines_of_thought_and_of_values_are_as_the_limits_say() {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    let limits = GrammarLimits {
        thought: 20,
        string: 5,
        id: 0,
        ..GrammarLimits::default()
    };
    let spec = GrammarSpec {
        tools: &[GrammarTool {
            name: "say",
            schema: &schema,
            multiline: &[],
        }],
        form: CallForm::Block,
        markers: &Markers::default(),
        choice: &ToolChoice::Required,
        is_single: true,
        limits,
    };
    let grammar = Grammar::new(&spec.gbnf().expect("a grammar"));
    let call = |text: &str| format!("!!!GADGET_START:say\n!!!ARG:text\n{text}\n!!!GADGET_END");
    for (reply, is_admitted) in [
        (call("12345"), true),
        (call("123456"), false),
        (call(""), true),
        (call("!!"), true),
        (format!("I say it.\n{}", call("a")), true),
        (format!("I say it, and that is long.\n{}", call("a")), false),
        (
            "!!!GADGET_START:say:id\n!!!ARG:text\na\n!!!GADGET_END".to_owned(),
            false,
        ),
    ] {
        assert_eq!(grammar.admits(&reply), is_admitted, "{reply}");
    }
    let tools = [GrammarTool {
        multiline: &["text"],
        ..spec.tools[0]
    }];
    let grammar = Grammar::new(
        &GrammarSpec {
            tools: &tools,
            ..spec
        }
        .gbnf()
        .expect("a grammar"),
    );
    assert!(grammar.admits(&call("several\n\nlines")));
    assert!(!grammar.admits(&call("several\n!!!ARG:b\nlines")));
}
