//! Which rule answers, how often, and with which of its replies.

use gadgetry::proto::usage::Price;
use gadgetry::{Model, ModelInfo};
use gadgetry_testing::{MockModel, MockModelBuilder, Then, any, paused};

use crate::support::{answer, says};

/// Asks these, one after the other; a request that no rule answers is `-`.
fn check(builder: MockModelBuilder, asks: &[&str], expected: &[&str]) {
    let model = builder.build();
    let answers: Vec<_> = asks
        .iter()
        .map(|ask| paused(answer(&model, says(ask))).unwrap_or_else(|_| "-".to_owned()))
        .collect();
    assert_eq!(answers, expected);
    drop(model.check());
}

#[test]
fn the_first_that_matches() {
    let rules = MockModel::builder()
        .when(|m| m.last_message_contains("a"))
        .replies_text("1")
        .when(|m| m.last_message_contains("b"))
        .replies_text("2")
        .when(any())
        .replies_text("3");
    check(rules, &["b", "ab", "c", "a"], &["2", "1", "3", "1"]);
}

#[test]
fn limits() {
    let rules = || MockModel::builder().when(any());
    let asks = ["?"; 4];
    check(
        rules().once().replies_text("x"),
        &asks,
        &["x", "-", "-", "-"],
    );
    check(
        rules().times(3).replies_text("x"),
        &asks,
        &["x", "x", "x", "-"],
    );
    check(
        rules().times(0).replies_text("x"),
        &asks,
        &["-", "-", "-", "-"],
    );
    let then = rules()
        .once()
        .replies_text("x")
        .when(any())
        .replies_text("y");
    check(then, &asks, &["x", "y", "y", "y"]);
}

#[test]
fn sequences() {
    let rules = || MockModel::builder().when(any());
    let asks = ["?"; 5];
    let two = ["a", "b"];
    check(
        rules().replies_in_order(two),
        &asks,
        &["a", "b", "-", "-", "-"],
    );
    for (then, expected) in [
        (Then::Refuse, ["a", "b", "-", "-", "-"]),
        (Then::RepeatLast, ["a", "b", "b", "b", "b"]),
        (Then::Cycle, ["a", "b", "a", "b", "a"]),
    ] {
        check(rules().replies_in_order_then(two, then), &asks, &expected);
        let none: [&str; 0] = [];
        check(rules().replies_in_order_then(none, then), &asks, &["-"; 5]);
    }
    let three_of_a_cycle = rules().times(3).replies_in_order_then(two, Then::Cycle);
    check(three_of_a_cycle, &asks, &["a", "b", "a", "-", "-"]);
    let one_of_two = rules().once().replies_in_order(two);
    check(one_of_two, &asks, &["a", "-", "-", "-", "-"]);
}

#[test]
fn replies_made_of_the_request() {
    let rules = MockModel::builder()
        .when(any())
        .replies_by(|request| format!("{} messages", request.messages.len()));
    check(rules, &["a"], &["1 messages"]);
}

#[test]
fn a_closure_may_ask_the_same_model() {
    let cell = std::sync::Arc::new(std::sync::OnceLock::<MockModel>::new());
    let seen = std::sync::Arc::clone(&cell);
    let model = MockModel::builder()
        .when(any())
        .replies_by(move |_| format!("{:?}", seen.get().map(MockModel::call_count)))
        .lenient()
        .build();
    cell.set(model.clone()).unwrap();
    assert_eq!(paused(answer(&model, says("x"))).unwrap(), "Some(1)");
}

#[test]
fn names() {
    let model = MockModel::builder()
        .name("main")
        .when(|m| m.model("small"))
        .label("cheap")
        .replies_text("s")
        .when(any())
        .replies_text("m")
        .build();
    let small = model.as_named("small:1");
    assert_eq!((model.name(), small.name()), ("main", "small:1"));
    assert_eq!(paused(answer(&small, says("x"))).unwrap(), "s");
    assert_eq!(paused(answer(&model, says("y"))).unwrap(), "m");
    let by: Vec<_> = model.answered_by().into_iter().flatten().collect();
    assert_eq!(by, ["cheap", "rule 2"]);
}

#[test]
fn what_is_recorded() {
    let model = MockModel::in_order(["1", "2"]);
    assert_eq!(model.last_request(), None);
    for ask in ["a", "b"] {
        drop(model.stream(says(ask)));
    }
    assert_eq!(model.requests(), [says("a"), says("b")]);
    assert_eq!(model.last_request(), Some(says("b")));
    assert_eq!(model.call_count(), 2);
}

#[test]
fn what_is_known_about_it() {
    let price = Price::default().input(3.0).output(15.0);
    let info = ModelInfo::default().reads_images(true);
    let builder = MockModel::builder().info(info.clone()).context_window(8000);
    let model = builder.price(price.clone()).build();
    assert_eq!(model.info(), info.context_window(8000).price(price));
    assert_eq!(MockModel::builder().build().info(), ModelInfo::default());
}
