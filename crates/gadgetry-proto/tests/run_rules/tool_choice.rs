//! Whether a reply must call a gadget, request by request.

use gadgetry_proto::delta::Delta;
use gadgetry_proto::message::{Request, ToolChoice};
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
}

#[test]
fn a_gadget_that_the_run_does_not_have_is_a_mistake() {
    let error = choosing(named("Horn")).try_plan().unwrap_err();
    assert_eq!(error, PlanError::ToolChoice("Horn".to_owned()));
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
