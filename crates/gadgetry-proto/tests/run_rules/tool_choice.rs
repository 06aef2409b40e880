//! Whether a reply must call a gadget, request by request.

use gadgetry_proto::convo::prompt_text;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::grammar::ModelSize;
use gadgetry_proto::message::{Constraint, Notation, Request, ToolChoice};
use gadgetry_proto::run::{Decision, OnTextOnlyReply, PlanError, QuestionKind, Retry, Tools};
use serde_json::json;

use crate::support::sim::play;
use crate::support::sim::script::{Finish, Piece, Reply, Script, block, gadget};

const AUTO: ToolChoice = ToolChoice::Auto;
const NONE: ToolChoice = ToolChoice::None;
const REQUIRED: ToolChoice = ToolChoice::Required;

fn named(name: &str) -> ToolChoice {
    ToolChoice::Gadget(name.to_owned())
}

/// A run that must, may or must not call a gadget.
fn choosing(choice: ToolChoice) -> Script {
    Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.tool_choice = choice)
}

fn native(name: &str) -> Reply {
    Reply::stop(vec![Piece::Delta(Delta::ToolCall {
        id: "a".to_owned(),
        name: name.to_owned(),
        input: json!({}),
    })])
}

/// The requests of the run carry these choices.
#[track_caller]
fn check(script: &Script, expected: &[ToolChoice]) {
    let log = play(script);
    let choices: Vec<ToolChoice> = log
        .requests()
        .into_iter()
        .map(|it| it.tool_choice.clone())
        .collect();
    assert_eq!(choices, expected);
}

#[test]
fn a_forced_choice_holds_until_a_gadget_was_called() {
    let bell = block("Bell:a", &[]);
    let two_calls = |choice| {
        choosing(choice)
            .reply(bell.clone())
            .reply(block("Bell:b", &[]))
    };
    check(&two_calls(AUTO), &[AUTO, AUTO, AUTO]);
    check(&two_calls(NONE), &[NONE, NONE, NONE]);
    check(&two_calls(REQUIRED), &[REQUIRED, AUTO, AUTO]);
    check(&two_calls(named("Bell")), &[named("Bell"), AUTO, AUTO]);
    // Text is no call, a call that cannot run is one.
    let talks = choosing(REQUIRED)
        .reply("Hm.")
        .with(|spec| spec.text_only = OnTextOnlyReply::Acknowledge);
    let talks = talks.with(|spec| spec.max_iterations = 3);
    check(
        &talks.clone().reply(bell.clone()),
        &[REQUIRED, REQUIRED, AUTO],
    );
    check(
        &talks.reply(block("Horn:a", &[])),
        &[REQUIRED, REQUIRED, AUTO],
    );
}

/// A run that only a call of `Bell` may end, of at most three replies.
fn answered_by_bell(size: ModelSize, replies: [&str; 2]) -> Script {
    let script = choosing(AUTO).gadget(gadget("Horn")).with(|spec| {
        spec.text_only = OnTextOnlyReply::Remind("Ring.".to_owned());
        spec.answer_gadget = Some("bell".to_owned());
        spec.constrain = Some(Notation::Gbnf);
        spec.model_size = size;
        spec.max_iterations = 3;
    });
    let [first, second] = replies;
    script.reply(first).reply(second)
}

#[test]
fn a_run_that_a_call_answers_must_call_where_replies_are_constrained() {
    use ModelSize::{Large, Small};
    let (text, horn) = ("Hm.", &*block("Horn:a", &[]));
    let bell = || named("Bell");
    let cases = [
        (Large, [text, text], [AUTO, REQUIRED, bell()]),
        (Large, [text, horn], [AUTO, REQUIRED, bell()]),
        (Large, [horn, horn], [AUTO, AUTO, bell()]),
        (Large, [horn, text], [AUTO, AUTO, bell()]),
        (Small, [text, text], [REQUIRED, REQUIRED, bell()]),
        (Small, [horn, horn], [REQUIRED, REQUIRED, bell()]),
    ];
    for (size, replies, expected) in cases {
        let script = answered_by_bell(size, replies);
        check(&script, &expected);
        // The grammar is that of the choice.
        let log = play(&script);
        let bell_only = log.requests()[2].constraint.clone();
        assert!(
            matches!(&bell_only, Some(Constraint::Gbnf(text)) if text.contains("Bell") && !text.contains("Horn")),
            "{bell_only:?}"
        );
        // What the caller chose comes first, and nothing is demanded of servers that constrain nothing.
        let chosen = script.clone().with(|spec| spec.tool_choice = named("Horn"));
        assert_eq!(play(&chosen).requests()[0].tool_choice, named("Horn"));
        let none = script.clone().with(|spec| spec.tool_choice = NONE);
        check(&none, &[NONE, NONE, NONE]);
        check(
            &script.with(|spec| spec.constrain = None),
            &[AUTO, AUTO, AUTO],
        );
    }
}

/// A small model calls what it may, and a call of the viewer shows nothing before there is something to view.
#[test]
fn the_viewer_is_admitted_when_it_has_something_to_show() {
    let long = "word ".repeat(100);
    for (result, expected) in [("short", [false, false]), (&long, [false, true])] {
        let bell = gadget("Bell").says(result);
        let script = Script::default().gadget(bell).reply(block("Bell:a", &[]));
        let log = play(&script.with(|spec| {
            spec.output_limit = Some(300);
            spec.constrain = Some(Notation::Gbnf);
        }));
        let requests = log.requests();
        let admitted = requests.iter().map(|request| match &request.constraint {
            Some(Constraint::Gbnf(text)) => text.contains("GadgetOutputViewer"),
            other => panic!("{other:?}"),
        });
        assert_eq!(admitted.collect::<Vec<_>>(), expected, "{result}");
        // The prompt stays the same, for caches.
        assert_eq!(requests[0].messages[0], requests[1].messages[0]);
    }
    let is_described = |size, constrain| {
        let script = Script::default().gadget(gadget("Bell")).with(|spec| {
            spec.output_limit = Some(300);
            spec.constrain = constrain;
            spec.model_size = size;
        });
        prompt_text(&play(&script).requests()[0].messages[0]).contains("## GadgetOutputViewer")
    };
    assert!(is_described(ModelSize::Large, Some(Notation::Gbnf)));
    assert!(is_described(ModelSize::Small, None));
    assert!(!is_described(ModelSize::Small, Some(Notation::Gbnf)));
}

#[test]
fn a_native_call_is_a_call() {
    for name in ["Bell", "Horn"] {
        let script = choosing(named("Bell")).replies(native(name));
        let script = script.with(|spec| spec.tools = Tools::Native);
        check(&script, &[named("Bell"), AUTO]);
    }
}

#[test]
fn a_gadget_is_named_as_it_is_registered() {
    check(&choosing(named("bell")), &[named("Bell")]);
}

#[test]
fn a_retry_carries_the_same_choice() {
    let script = choosing(REQUIRED).reply_cut("", Finish::Disconnect);
    let script = script.reply(block("Bell:a", &[]));
    let script = script.with(|spec| spec.retry = Some(Retry::default()));
    check(&script, &[REQUIRED, REQUIRED, AUTO]);
}

#[test]
fn a_decision_changes_it_for_one_request() {
    let script = choosing(AUTO)
        .reply(block("Bell:a", &[]))
        .reply(block("Bell:b", &[]));
    let script = script.with(|spec| spec.asks.before_model_call = true);
    let script = script.decides(|question| {
        let QuestionKind::BeforeModelCall { request } = question else {
            return None;
        };
        (request.iteration == 2).then(|| {
            let tool_choice = named("Bell");
            Decision::Request(request.clone().tool_choice(tool_choice))
        })
    });
    check(&script, &[AUTO, named("Bell"), AUTO]);
    // The grammar follows.
    let constrained = script.with(|spec| spec.constrain = Some(Notation::Gbnf));
    let log = play(&constrained);
    let constraints: Vec<_> = log
        .requests()
        .into_iter()
        .map(|it| &it.constraint)
        .collect();
    assert!(constraints[0].is_some() && constraints[0] == constraints[2]);
    let forced = choosing(named("Bell")).with(|spec| spec.constrain = Some(Notation::Gbnf));
    assert_eq!(*constraints[1], play(&forced).requests()[0].constraint);
}

#[test]
fn a_gadget_that_the_run_does_not_have_is_a_mistake() {
    let answered = choosing(AUTO).with(|spec| spec.answer_gadget = Some("Horn".to_owned()));
    for script in [choosing(named("Horn")), answered] {
        let error = script.try_plan().unwrap_err();
        assert_eq!(error, PlanError::ToolChoice("Horn".to_owned()));
    }
}

/// Requests that were stored before there was a choice leave it to the model.
#[test]
fn a_request_without_a_choice_is_read() {
    let read: Request = serde_json::from_value(json!({"messages": [], "iteration": 1})).unwrap();
    assert_eq!(read.tool_choice, AUTO);
    assert!(!serde_json::to_string(&read).unwrap().contains("toolChoice"));
    for choice in [NONE, REQUIRED, named("Bell")] {
        let request = Request::default().tool_choice(choice.clone());
        let stored = serde_json::to_string(&request).unwrap();
        let read: Request = serde_json::from_str(&stored).unwrap();
        assert_eq!(read.tool_choice, choice);
    }
}
