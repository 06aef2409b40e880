//! Every way in which a conversation can be broken.

use gadgetry::proto::message::{Content, Message, Role};
use gadgetry_testing::{
    Conversation, RequestChecker, Rule, call, conversation, fixtures, render_conversation,
};

use crate::support::panic_of;

/// The violations as `rule message: problem`.
fn check(conversation: Conversation, expected: &[(Rule, usize, &str)]) {
    let messages = conversation.build();
    let found = RequestChecker::default().check(&messages);
    let found = found.err().map(|it| it.list).unwrap_or_default();
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.rule, it.message, it.problem.as_str()))
        .collect();
    assert_eq!(found, expected, "{}", render_conversation(&messages));
    // Each rule can be left out, and then only the others speak.
    for (rule, ..) in expected {
        let others = RequestChecker::default().without(*rule).check(&messages);
        let others = others.err().map(|it| it.list).unwrap_or_default();
        let wanted = expected.iter().filter(|it| it.0 != *rule).count();
        assert_eq!(others.len(), wanted);
    }
}

/// A reply with the calls `a` and `b`.
fn two_calls() -> Conversation {
    conversation()
        .user("Go.")
        .assistant_call(call("Run").id("a"))
        .assistant_call(call("Walk").id("b"))
}

fn bare(role: Role, content: Vec<Content>) -> Message {
    Message::new(role, content)
}

/// A result as no conversation builder would put it.
fn result(id: &str, gadget: &str) -> Content {
    let messages = conversation()
        .assistant_call(call(gadget).id(id))
        .result(id, "ok")
        .build();
    messages[1].content[0].clone()
}

#[test]
fn valid_conversations_have_no_problems() {
    check(conversation(), &[]);
    check(conversation().system("a").system("b").user("c"), &[]);
    check(two_calls().result("a", "1").result("b", "2"), &[]);
    check(
        two_calls().result("a", "1").error("b", "no").user("On."),
        &[],
    );
    // An id may be used twice in a reply, and again later.
    let twice = conversation()
        .user("Go.")
        .assistant_call(call("Run").id("a"))
        .assistant_call(call("Walk").id("a"))
        .result("a", "1")
        .error("a", "no")
        .assistant_call(call("Run").id("a"))
        .result("a", "2");
    let mut messages = twice.build();
    // The fixture knows only the last call of an id.
    messages[2].content[0] = result("a", "Run");
    let twice = messages
        .into_iter()
        .fold(conversation(), Conversation::message);
    check(twice, &[]);
    let thought = Content::Reasoning {
        text: "Hm.".to_owned(),
    };
    check(
        conversation().message(bare(Role::Assistant, vec![thought])),
        &[],
    );
    for messages in [
        fixtures::greeting(),
        fixtures::one_call(),
        fixtures::parallel_calls(),
        fixtures::failed_call(),
        fixtures::long(3, 50),
    ] {
        RequestChecker::default().assert(&messages);
    }
}

#[test]
fn system_messages_lead() {
    check(
        conversation().system("a").user("b").system("c").system("d"),
        &[
            (
                Rule::SystemLeads,
                3,
                "a system message follows other messages",
            ),
            (
                Rule::SystemLeads,
                4,
                "a system message follows other messages",
            ),
        ],
    );
}

#[test]
fn no_empty_messages() {
    let blank = |content| conversation().message(bare(Role::User, content));
    let empty = (Rule::NoEmptyMessage, 1, "the message is empty");
    check(blank(Vec::new()), &[empty]);
    check(conversation().user(" \n"), &[empty]);
    check(conversation().assistant("\n"), &[empty]);
    let blank_thought = Content::Reasoning {
        text: " ".to_owned(),
    };
    check(blank(vec![blank_thought]), &[empty]);
}

#[test]
fn results_without_a_call() {
    check(
        conversation().user("Go.").assistant("No.").result("x", "1"),
        &[(
            Rule::NoOrphanResult,
            3,
            "the result of \"x\" answers no call of the message before",
        )],
    );
    check(
        conversation().result("x", "1"),
        &[(
            Rule::NoOrphanResult,
            1,
            "the result of \"x\" answers no call of the message before",
        )],
    );
    // A call that the assistant did not write.
    let mut written_by_user = conversation().assistant_call(call("Run").id("x")).build();
    written_by_user[0].role = Role::User;
    check(
        conversation()
            .message(written_by_user.remove(0))
            .message(bare(Role::User, vec![result("x", "Run")])),
        &[(
            Rule::NoOrphanResult,
            2,
            "the result of \"x\" answers no call of the message before",
        )],
    );
    // The call is further back.
    check(
        two_calls()
            .result("a", "1")
            .result("b", "2")
            .user("And?")
            .result("b", "3"),
        &[(
            Rule::NoOrphanResult,
            5,
            "the result of \"b\" answers no call of the message before",
        )],
    );
    check(
        two_calls()
            .result("a", "1")
            .result("x", "?")
            .result("b", "2"),
        &[(
            Rule::NoOrphanResult,
            3,
            "the result of \"x\" answers no call of the message before",
        )],
    );
}

#[test]
fn results_in_the_wrong_place_or_of_another_gadget() {
    let one_call = || {
        conversation()
            .user("Go.")
            .assistant_call(call("Run").id("a"))
    };
    check(
        one_call().message(bare(Role::Assistant, vec![result("a", "Run")])),
        &[
            (
                Rule::EveryCallAnswered,
                2,
                "the call \"a\" is not answered in the next message",
            ),
            (
                Rule::NoOrphanResult,
                3,
                "the result of \"a\" is not in a message of the user",
            ),
        ],
    );
    check(
        one_call().message(bare(Role::User, vec![result("a", "Walk")])),
        &[(
            Rule::NoOrphanResult,
            3,
            "the result of \"a\" is of \"Walk\", but the call is of \"Run\"",
        )],
    );
}

#[test]
fn calls_without_exactly_one_result() {
    let unanswered = |id| format!("the call {id:?} is not answered in the next message");
    let (a, b) = (unanswered("a"), unanswered("b"));
    let both = [
        (Rule::EveryCallAnswered, 2, a.as_str()),
        (Rule::EveryCallAnswered, 2, b.as_str()),
    ];
    check(two_calls(), &both);
    check(two_calls().user("And?"), &both);
    check(two_calls().result("a", "1"), &both[1..]);
    check(
        two_calls()
            .result("a", "1")
            .result("b", "2")
            .result("a", "1"),
        &[(
            Rule::EveryCallAnswered,
            2,
            "the call \"a\" is answered 2 times",
        )],
    );
    check(
        conversation()
            .user("Go.")
            .assistant_call(call("Run").id("a"))
            .assistant_call(call("Run").id("a"))
            .result("a", "1"),
        &[(
            Rule::EveryCallAnswered,
            2,
            "the id \"a\" has 2 calls and 1 results",
        )],
    );
}

#[test]
fn results_out_of_order() {
    check(
        two_calls().result("b", "2").result("a", "1"),
        &[(
            Rule::CallOrder,
            2,
            "the calls [\"a\", \"b\"] are answered in the order [\"b\", \"a\"]",
        )],
    );
}

#[test]
fn the_report() {
    let broken = conversation()
        .user("Go.")
        .assistant("No.")
        .result("x", "1")
        .build();
    assert_eq!(
        panic_of(|| RequestChecker::default().assert(&broken)),
        "no sound conversation: 
  message 3: the result of \"x\" answers no call of the message before
1 user: Go.
2 assistant: No.
3 user: Result (x): 1
"
    );
}

#[test]
fn long_messages_lose_their_middle() {
    let text = format!("{}{}", "a".repeat(700), "ö".repeat(700));
    let shown = render_conversation(&conversation().user(text).build());
    let (a, o) = ("a".repeat(300), "ö".repeat(300));
    assert_eq!(shown, format!("1 user: {a} [… 800 characters …] {o}\n"));
}
