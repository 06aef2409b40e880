//! Fixtures are what a run would have kept.

use gadgetry::proto::message::{Content, Role};
use gadgetry_testing::{MockGadget, MockModel, call, conversation, fixtures, paused, reply};

use crate::support::{play, toolbox};

#[test]
fn a_fixture_is_the_history_of_such_a_run() {
    let fetch = MockGadget::builder("Fetch").returns("[17, 23]").build();
    let count = MockGadget::builder("Count").fails("too many").build();
    let toolbox = toolbox([fetch, count]);
    let said = || {
        [
            call("Fetch").id("users").arg("url", "/api/users"),
            call("Count").after("users"),
        ]
    };
    let model = MockModel::in_order([
        reply().text("Let me see.\n").calls(said()).text("Done."),
        reply().text("I cannot.").call(call("Fetch").id("again")),
        reply().text("Sorry."),
    ]);
    paused(play(&model, &toolbox, "How many?"));
    let requests = model.requests();
    let [fetch, count] = said();
    let expected = conversation()
        .message(requests[2].messages[0].clone()) // the catalog of gadgets
        .user("How many?")
        .assistant("Let me see.\n")
        .assistant_call(fetch)
        .assistant_call(count)
        .assistant("Done.")
        .result("users", "[17, 23]")
        .error("gadget_1", "too many")
        .assistant("I cannot.")
        .assistant_call(call("Fetch").id("again"))
        .result("again", "[17, 23]")
        .build();
    assert_eq!(*requests[2].messages, expected);
    model.verify();
}

#[test]
fn a_result_is_of_the_last_call_with_its_id() {
    let messages = conversation()
        .assistant_call(call("Run").id("a"))
        .result("a", "1")
        .assistant_call(call("Walk").id("a"))
        .result("a", "2")
        .result("b", "3")
        .build();
    let mut gadgets = Vec::new();
    for content in messages.iter().flat_map(|message| &message.content) {
        if let Content::GadgetResult { gadget_name, .. } = content {
            gadgets.push(gadget_name.as_str());
        }
    }
    assert_eq!(gadgets, ["Run", "Walk", "Unknown"]);
}

#[test]
fn sizes_and_roles() {
    use Role::{Assistant, System, User};
    let roles = |messages: &[gadgetry::proto::message::Message]| -> Vec<Role> {
        messages.iter().map(|message| message.role).collect()
    };
    assert_eq!(roles(&fixtures::greeting()), [System, User, Assistant]);
    let five = [System, User, Assistant, User, Assistant];
    assert_eq!(roles(&fixtures::one_call()), five);
    assert_eq!(roles(&fixtures::parallel_calls()), five);
    let seven = [System, User, Assistant, User, Assistant, User, Assistant];
    assert_eq!(roles(&fixtures::failed_call()), seven);
    assert_eq!(fixtures::long(0, 10).len(), 2);
    let long = fixtures::long(4, 1000);
    assert_eq!(long.len(), 10);
    let [Content::GadgetResult { text, .. }] = long[9].content.as_slice() else {
        panic!("{:?}", long[9]);
    };
    assert!(text.starts_with("result 4 result 4 "));
    assert!((850..=1100).contains(&text.len()), "{}", text.len());
}
