//! Every matcher: what it takes, and why it refuses the rest.

use gadgetry::Model;
use gadgetry::proto::message::{
    Content, Media, MediaData, MediaKind, Message, Purpose, Request, Role,
};
use gadgetry_testing::{Matcher, MockModel, any, call, conversation};

use crate::support::{panic_of, request};

/// system, user, assistant with a call, its result; a hint behind it.
fn asked() -> Request {
    let mut messages = conversation()
        .system("Be brief.")
        .user("Weather in Rome, Q7?")
        .assistant("Let me see.")
        .assistant_call(call("Fetch").id("rome"))
        .result("rome", "sunny")
        .build();
    let photo = Media {
        kind: MediaKind::Image,
        mime_type: "image/png".to_owned(),
        data: MediaData::Url("https://example.com/rome.png".to_owned()),
        name: None,
    };
    messages[1].content.push(Content::Media(photo));
    request(messages)
        .iteration(2)
        .trailing(vec![Message::text(Role::User, "[Reply 2 of 3]")])
}

/// The reason of the refusal; empty if the matcher takes [`asked`].
fn check(build: impl FnOnce(Matcher) -> Matcher, expected: &str) {
    let model = MockModel::builder().when(build).replies_text("yes").build();
    drop(model.stream(asked()));
    let report = model.check().err().map(|it| it.to_string());
    let report = report.unwrap_or_default();
    // "  rule 1 (file:line:column): reason"
    let line = report.lines().find(|line| line.starts_with("  rule 1 ("));
    let reason = line.map_or("", |line| line.split_once("): ").unwrap().1);
    assert_eq!(reason, expected);
}

#[test]
fn any_matches_every_request() {
    check(any(), "");
}

#[test]
fn the_last_message() {
    check(|m| m.last_message_contains("Result (rome): sunny"), "");
    check(
        |m| m.last_message_contains("Weather"),
        "the last message contains \"Weather\": it is of the user and reads \"Result (rome): sunny\"",
    );
    check(|m| m.last_message_matches("s.nny$"), "");
    check(
        |m| m.last_message_matches("^sunny"),
        "the last message matches /^sunny/: it is of the user and reads \"Result (rome): sunny\"",
    );
    check(|m| m.last_role(Role::User), "");
    check(
        |m| m.last_role(Role::Assistant),
        "the last message is of the assistant: it is of the user",
    );
}

#[test]
fn some_message() {
    check(|m| m.message_contains("!!!GADGET_START:Fetch:rome"), "");
    check(|m| m.message_contains("[Reply 2 of 3]"), "");
    check(
        |m| m.message_contains("Paris"),
        "a message contains \"Paris\": none of 5 does",
    );
    check(|m| m.message_matches(r"\bQ\d\b"), "");
    check(
        |m| m.message_matches(r"\bQ\d\d"),
        r"a message matches /\bQ\d\d/: none of 5 does",
    );
}

#[test]
fn some_message_of_a_role() {
    check(|m| m.role_contains(Role::System, "brief"), "");
    check(
        |m| m.role_contains(Role::System, "Rome"),
        "a system message contains \"Rome\": the only one does not",
    );
    check(|m| m.role_matches(Role::Assistant, "^Let"), "");
    check(
        |m| m.role_matches(Role::User, "^Let"),
        "a user message matches /^Let/: none of 3 does",
    );
}

#[test]
fn numbers() {
    check(|m| m.message_count(4), "");
    check(|m| m.message_count(5), "messages: 5: this request has 4");
    check(|m| m.iteration(2), "");
    check(|m| m.iteration(1), "iteration: 1: this request has 2");
    check(|m| m.calls_before(0), "");
    check(|m| m.calls_before(1), "calls before: 1: this request has 0");
}

#[test]
fn names_results_media_and_purposes() {
    check(|m| m.has_media(MediaKind::Image), "");
    check(
        |m| m.has_media(MediaKind::Audio),
        "some media are of the kind Audio: there are [Image]",
    );
    check(|m| m.model("moc"), "");
    check(
        |m| m.model("large"),
        "the model's name contains \"large\": it is \"mock\"",
    );
    check(|m| m.has_result("rome"), "");
    check(
        |m| m.has_result("paris"),
        "the result of \"paris\" has come: the last message has results of [\"rome\"]",
    );
    check(|m| m.purpose(Purpose::Reply), "");
    check(
        |m| m.purpose(Purpose::Summary),
        "the purpose is Summary: it is Reply",
    );
}

#[test]
fn closures_and_combinations() {
    check(|m| m.is("odd", |request| request.iteration % 2 == 0), "");
    check(
        |m| m.is("the iteration is odd", |request| request.iteration % 2 == 1),
        "the iteration is odd: it is not so",
    );
    check(|m| m.not(|m| m.message_contains("Paris")), "");
    check(
        |m| m.not(|m| m.message_contains("Rome").iteration(2)),
        "not (a message contains \"Rome\", and iteration: 2): it is so",
    );
    check(|m| m.not(|m| m.message_contains("Rome").iteration(1)), "");
    check(|m| m.message_contains("Rome").iteration(2), "");
    check(
        |m| m.message_contains("Rome").iteration(3),
        "iteration: 3: this request has 2",
    );
}

#[test]
fn an_empty_request() {
    let model = MockModel::builder()
        .when(|m| m.last_message_contains("x"))
        .replies_text("")
        .when(|m| m.last_role(Role::User))
        .replies_text("")
        .when(|m| m.message_contains("x"))
        .replies_text("")
        .when(|m| m.has_result("x"))
        .replies_text("")
        .build();
    drop(model.stream(request(Vec::new())));
    let report = model.check().unwrap_err().to_string();
    let reasons = [
        "there is no message",
        "there is no such message",
        "has results of []",
    ];
    for reason in reasons {
        assert!(report.contains(reason), "{report}");
    }
}

#[test]
fn invalid_patterns_panic() {
    let words = panic_of(|| MockModel::builder().when(|m| m.message_matches("(")));
    assert!(
        words.starts_with("the test's pattern is not a valid regular expression: "),
        "{words}"
    );
}
