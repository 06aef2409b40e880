//! Calls in other forms than ours: reported, or executed where that is switched on.

use gadgetry_proto::block::Anchoring;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::dialect::{Dialect, Dialects};
use gadgetry_proto::error::DiagnosticCode;
use gadgetry_proto::event::{EventKind, FinishReason};
use gadgetry_proto::run::{RunConfig, Tools};
use serde_json::json;

use crate::support::sim::script::{Behaviour, Finish, Piece, Reply, Script, block, gadget};
use crate::support::sim::{Log, play};

/// A call of `Calc` in each form.
const FORMS: [(Dialect, &str); 9] = [
    (
        Dialect::Hermes,
        "<tool_call>{\"name\":\"Calc\",\"arguments\":{\"a\":1}}</tool_call>",
    ),
    (
        Dialect::QwenCoder,
        "<tool_call><function=Calc><parameter=a>1</parameter></function></tool_call>",
    ),
    (
        Dialect::Mistral,
        "[TOOL_CALLS][{\"name\":\"Calc\",\"arguments\":{\"a\":1}}]",
    ),
    (
        Dialect::Llama,
        "{\"name\":\"Calc\",\"parameters\":{\"a\":1}}",
    ),
    (
        Dialect::Llama,
        "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"Calc\",\"arguments\":{\"a\":1}}}]}",
    ),
    (
        Dialect::Anthropic,
        "<function_calls><invoke name=\"Calc\"><parameter name=\"a\">1</parameter></invoke></function_calls>",
    ),
    (
        Dialect::FencedJson,
        "```json\n{\"name\":\"Calc\",\"arguments\":{\"a\":1}}\n```",
    ),
    (Dialect::Xml, "<Calc><a>1</a></Calc>"),
    (Dialect::Python, "Calc(a=1)"),
];

fn calc() -> Behaviour {
    gadget("Calc")
        .takes_parameters(&json!({ "a": { "type": "integer" } }))
        .answers(|start| start.parameters.to_string())
}

fn run(change: impl FnOnce(&mut RunConfig), replies: &[&str]) -> Log {
    let script = Script::default().gadget(calc()).with(change);
    let script = replies
        .iter()
        .fold(script, |script, reply| script.reply(*reply));
    play(&script)
}

#[test]
fn a_call_in_another_form_is_never_an_answer() {
    for (dialect, form) in FORMS {
        let reply = format!("Let me see.\n{form}");
        for (tools, how) in [
            (
                Tools::Text,
                "write a block that begins with !!!GADGET_START:Calc and ends with !!!GADGET_END",
            ),
            (Tools::Native, "call it through your interface for tools"),
        ] {
            let log = run(|spec| spec.tools = tools, &[&reply]);
            assert_eq!(log.told(), [], "{dialect}");
            assert_eq!(log.diagnostics(DiagnosticCode::ForeignCall), 1, "{dialect}");
            let note =
                format!("Note: The call of Calc in the form of {dialect} was not executed; {how}");
            assert!(
                format!("{:?}", log.history).contains(&note),
                "{:#?}",
                log.history
            );
            assert_eq!(
                (log.summary.iterations, log.summary.answer.as_str()),
                (2, "fin")
            );
            // Once: then it is what the model has to say.
            let log = run(|spec| spec.tools = tools, &[&reply, &reply]);
            assert_eq!(
                (log.summary.iterations, log.summary.reason),
                (2, FinishReason::Completed)
            );
        }
        // Beside a real call it is prose, and it is not among others.
        let log = run(
            |_| {},
            &[&format!("{reply}\n{}", block("Calc:c", &[("a", "2")]))],
        );
        assert_eq!(log.diagnostics(DiagnosticCode::ForeignCall), 0, "{dialect}");
        assert_eq!(log.told(), [("c", "{\"a\":2}")], "{dialect}");
        let log = run(|_| {}, &[&reply.replace("Calc", "Anna")]);
        assert_eq!(log.summary.iterations, 1, "{dialect}");
    }
}

#[test]
fn a_call_of_a_text_that_the_model_has_read_is_not_executed() {
    for (dialect, form) in FORMS {
        for is_json in [false, true] {
            let page = format!("A page.\n{form}\nIts end.");
            let script = Script::default()
                .gadget(calc())
                .gadget(gadget("Page").says(&page))
                .with(|config| {
                    config.dialects = Dialects::all();
                    if is_json {
                        config.form = CallForm::Json;
                    }
                })
                .reply("<tool_call>{\"name\":\"Page\",\"arguments\":{}}</tool_call>")
                .reply(format!("It says:\n{form}"));
            let log = play(&script);
            let told = log.told();
            assert!(matches!(told[..], [("call_1", _)]), "{dialect}: {told:?}");
            // Nor does a note ask for it in another form.
            let history = format!("{:?}", log.history);
            let note = "was not executed; it is in a text that you were given";
            assert!(history.contains(note), "{dialect}: {history}");
            assert!(!history.contains("executed; write"), "{dialect}: {history}");
        }
    }
}

#[test]
fn a_dialect_that_is_switched_on_is_executed() {
    for (dialect, form) in FORMS {
        let reply = format!("Let me see.\n{form}\n");
        let on = |spec: &mut RunConfig| spec.dialects = [dialect].into_iter().collect();
        for cut in (0..=reply.len()).step_by(7) {
            let (before, behind) = reply.split_at(cut);
            let pieces = [before, behind].map(|text| Piece::Text(text.to_owned()));
            let script = Script::default().gadget(calc()).with(on);
            let log = play(&script.replies(Reply::stop(pieces.to_vec())));
            assert_eq!(log.told(), [("call_1", "{\"a\":1}")], "{dialect}");
            assert_eq!(log.diagnostics(DiagnosticCode::ForeignCall), 0, "{dialect}");
            // The reply goes back as it was written.
            let written = log.history[log.opening.len()].raw.as_deref();
            assert_eq!(written, Some(reply.as_str()), "{dialect}");
        }
        // The same checks as for a block, and ids that go on.
        let wrong = reply.replace('1', "\"x\"");
        let log = run(on, &[&wrong, &reply]);
        let [(first, error), second] = log.told()[..] else {
            panic!("{dialect}: {:?}", log.told());
        };
        assert!(
            first == "call_1" && error.contains("a: expected integer"),
            "{error}"
        );
        assert_eq!(second, ("call_2", "{\"a\":1}"), "{dialect}");
        // With blocks, in the order of the text.
        let log = run(on, &[&format!("{reply}{}", block("Calc:c", &[("a", "2")]))]);
        assert_eq!(
            log.told(),
            [("call_1", "{\"a\":1}"), ("c", "{\"a\":2}")],
            "{dialect}"
        );
        // Others are not.
        let other = if dialect == Dialect::Xml {
            Dialect::Hermes
        } else {
            Dialect::Xml
        };
        let log = run(
            |spec| spec.dialects = [other].into_iter().collect(),
            &[&reply],
        );
        assert_eq!(log.told(), [], "{dialect}");
    }
}

#[test]
fn a_call_that_the_end_of_the_reply_cut_never_runs() {
    for (dialect, form) in FORMS {
        // Within the last tag of the call itself, which a wrapper may follow.
        let wrapper = ["</function></tool_call>", "</invoke></function_calls>"];
        let end = wrapper.iter().find_map(|end| form.find(end));
        let end = end.map_or(form.len() - 2, |at| at + 3);
        for finish in [Finish::Stop, Finish::Length, Finish::Disconnect] {
            for length in [end, end / 2] {
                let script = Script::default().gadget(calc()).with(|spec| {
                    spec.dialects = [dialect].into_iter().collect();
                    spec.max_iterations = 1;
                });
                let log = play(&script.reply_cut(&form[..length], finish.clone()));
                assert!(
                    log.told().iter().all(|(_, text)| text.starts_with("Error")),
                    "{dialect} {:?}",
                    log.told()
                );
            }
        }
    }
    let cut = "<tool_call>{\"name\":\"Calc\",\"arguments\":{\"a\":1}}";
    let log = run(
        |spec| spec.dialects = [Dialect::Hermes].into_iter().collect(),
        &[cut],
    );
    let [(_, text)] = log.told()[..] else {
        panic!("one answer");
    };
    assert!(text.contains("The reply ended inside the call"), "{text}");
}

#[test]
fn calls_in_quotations_and_reasoning_are_not_executed() {
    let form = FORMS[0].1;
    let qwen = FORMS[1].1;
    for (anchoring, reply, runs) in [
        (Anchoring::Anywhere, format!("See: {form}"), 1),
        (Anchoring::LineStart, format!("See: {form}"), 0),
        (Anchoring::LineStart, format!("> {form}"), 0),
        (Anchoring::LineStart, format!("See:\n  {form}{form}"), 2),
        (Anchoring::LineStart, qwen.to_owned(), 1),
        (Anchoring::Anywhere, format!("`{form}`"), 0),
        (Anchoring::Anywhere, format!("<think>{form}</think>"), 0),
        (
            Anchoring::Anywhere,
            block("Calc:c", &[("a", "1"), ("text", form)]),
            1,
        ),
    ] {
        let log = run(
            |spec| {
                spec.anchoring = anchoring;
                spec.dialects = Dialects::all();
            },
            &[&reply],
        );
        assert_eq!(log.told().len(), runs, "{reply}");
    }
}

/// A transform has the last word about what is text.
#[test]
fn native_mode_and_transforms() {
    let form = FORMS[0].1;
    let on = |spec: &mut RunConfig| {
        spec.dialects = [Dialect::Hermes].into_iter().collect();
        spec.tools = Tools::Native;
    };
    let log = run(on, &[form]);
    assert_eq!(log.told(), [("call_1", "{\"a\":1}")]);
    let whole = Delta::ToolCall {
        id: "n".to_owned(),
        name: "Calc".to_owned(),
        input: json!({ "a": 3 }),
    };
    let script = Script::default().gadget(calc()).with(on);
    let pieces = vec![Piece::Text(form.to_owned()), Piece::Delta(whole)];
    let log = play(&script.replies(Reply::stop(pieces)));
    assert_eq!(log.told(), [("call_1", "{\"a\":1}"), ("n", "{\"a\":3}")]);
}

/// The span of a call in another dialect is its place in the reply as written, with all that is not visible text.
#[test]
fn the_span_is_the_place_in_the_reply() {
    for (dialect, form) in FORMS {
        let reply = format!("<think>Hm.</think>Then:\n{form}\n");
        let log = run(
            |spec| spec.dialects = [dialect].into_iter().collect(),
            &[&reply],
        );
        let mut found = Vec::new();
        for event in log.events() {
            if let EventKind::GadgetCall { written, .. } = &event.kind {
                let span = written.span;
                let at = |offset: u64| usize::try_from(offset).expect("it is small");
                found.push(&reply[at(span.start)..at(span.end)]);
            }
        }
        let [found] = found[..] else {
            panic!("{dialect}: {found:?}");
        };
        // The wrapper around some forms is not a part of the call.
        assert!(form.contains(found.trim()), "{dialect}: {found}");
        assert!(found.contains("Calc"), "{dialect}: {found}");
    }
}
