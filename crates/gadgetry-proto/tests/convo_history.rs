//! The history is shared with requests, never copied for nothing.

use gadgetry_proto::convo::{History, prompt_text};
use gadgetry_proto::message::{Message, Role};

#[test]
fn a_thousand_iterations_never_copy_the_history() {
    let mut history = History::new(vec![Message::text(Role::User, "go")]);
    history.messages_mut().reserve(1_001);
    let place = history.messages().as_ptr();
    for iteration in 1..=1_000 {
        let request = history.request(iteration);
        assert_eq!(request.messages.len(), iteration as usize);
        drop(request);
        history.push_text(Role::Assistant, "on");
        assert_eq!(history.messages().as_ptr(), place);
    }
    let held = history.request(1_001);
    history.append_to_system("");
    assert_eq!(history.messages().as_ptr(), place, "nothing was added");
    history.push_text(Role::User, "more");
    assert_ne!(
        history.messages().as_ptr(),
        place,
        "a request is still held"
    );
    assert_eq!(held.messages.len(), 1_001);
    assert_eq!(history.last(), Some(&Message::text(Role::User, "more")));
}

#[test]
fn the_history_is_saved_as_its_messages() {
    let mut history = History::from(vec![Message::text(Role::System, "be kind")]);
    history.append_to_system("and brief");
    assert_eq!(prompt_text(&history.messages()[0]), "be kind\n\nand brief");
    let saved = serde_json::to_value(&history).unwrap();
    assert_eq!(saved[0]["content"][1]["text"], "and brief");
    assert_eq!(serde_json::from_value::<History>(saved).unwrap(), history);
}
