//! Messages that only one request carries.

use std::sync::Arc;

use gadgetry_proto::run::{
    EphemeralMessage, HintTiming, MakeEphemeralMessage, Retry, RunStatus, iteration_hint,
    parallel_hint,
};

use crate::support::sim::play;
use crate::support::sim::script::{Finish, Script, block, gadget};
use crate::support::sim::transcript::check;

fn bells(ids: &[&str]) -> String {
    let calls = ids.iter().map(|id| block(&format!("Bell:{id}"), &[]));
    calls.collect()
}

fn by_code(name: &str) -> EphemeralMessage {
    EphemeralMessage::Code(name.to_owned())
}

/// Reports all that it knows.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the signature of `MakeEphemeralMessage`"
)]
fn standing(standing: &RunStatus) -> Option<String> {
    let RunStatus {
        iteration,
        max_iterations,
        spent,
        budget,
        calls_before,
    } = standing;
    Some(format!(
        "{iteration}/{max_iterations} {spent} {budget:?} {calls_before:?}"
    ))
}

fn hinted(hints: Vec<EphemeralMessage>) -> Script {
    let code: [(&str, MakeEphemeralMessage); 2] = [
        ("standing", Arc::new(standing)),
        (
            "second",
            Arc::new(|now| (now.iteration == 2).then(|| "Now.".to_owned())),
        ),
    ];
    let named = |name: &str| hints.contains(&by_code(name));
    let code = code.into_iter().filter(|(name, _)| named(name));
    let code = code.map(|(name, make)| (name.to_owned(), make)).collect();
    Script::default()
        .with_code(|it| it.trailing = code)
        .gadget(gadget("Bell").costs(0.5))
        .with(|spec| {
            spec.trailing = hints;
            spec.max_iterations = 4;
            spec.budget = Some(9.0);
        })
        .reply(bells(&["a", "b"]))
        .reply(bells(&["c"]))
}

#[test]
fn each_request_has_its_own_hints_in_order() {
    check(
        &hinted(vec![by_code("standing"), by_code("second")]),
        &[
            "  hint 1/4 0 Some(9.0) None",
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 call b Bell",
            "0 start b {}",
            "0 ok a $0.5: ok Bell",
            "0 ok b $0.5: ok Bell",
            "  told Result (a): ok Bell",
            "  told Result (b): ok Bell",
            "  hint 2/4 1 Some(9.0) Some(2)",
            "  hint Now.",
            "0 ask 2",
            "0 call c Bell",
            "0 start c {}",
            "0 ok c $0.5: ok Bell",
            "  told Result (c): ok Bell",
            "  hint 3/4 1.5 Some(9.0) Some(1)",
            "0 ask 3",
            "0 text fin",
            "0 end completed after 3 $1.5: fin",
        ],
    );
}

#[test]
fn hints_do_not_touch_the_history() {
    let (with, without) = (
        play(&hinted(vec![by_code("standing")])),
        play(&hinted(Vec::new())),
    );
    assert_eq!(with.history, without.history);
    for (with, without) in with.requests().into_iter().zip(without.requests()) {
        assert_eq!(with.messages, without.messages);
        assert_eq!(with.trailing.len(), 1);
        assert_eq!(with.all_messages().count(), with.messages.len() + 1);
        assert_eq!(without.trailing, []);
    }
}

#[test]
fn a_retry_has_the_hints_of_its_request() {
    let mut script = hinted(vec![by_code("standing")]);
    script.base.retry = Some(Retry {
        min_ms: 5,
        jitter: false,
        ..Retry::default()
    });
    script.replies.truncate(0);
    let script = script
        .reply(bells(&["a"]))
        .reply_cut("", Finish::Error("no line".to_owned()));
    check(
        &script,
        &[
            "  hint 1/4 0 Some(9.0) None",
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 ok a $0.5: ok Bell",
            "  told Result (a): ok Bell",
            "  hint 2/4 0.5 Some(9.0) Some(1)",
            "0 ask 2",
            "0 reply error: no line",
            "0 retry 1 in 5: no line",
            "  hint 2/4 0.5 Some(9.0) Some(1)",
            "5 ask 2",
            "5 text fin",
            "5 end completed after 2 $0.5: fin",
        ],
    );
}

fn at(iteration: u32, max_iterations: u32) -> RunStatus {
    RunStatus {
        iteration,
        max_iterations,
        spent: 0.0,
        budget: None,
        calls_before: None,
    }
}

#[test]
fn hints_count_the_replies_that_are_left() {
    let told = |timing, max| -> Vec<u32> {
        let hint = iteration_hint(timing);
        let iterations = 1..=max;
        iterations
            .filter(|n| hint.message(&at(*n, max)).is_some())
            .collect()
    };
    assert_eq!(told(HintTiming::Always, 5), [1, 2, 3, 4, 5]);
    assert_eq!(told(HintTiming::Late, 5), [3, 4, 5]);
    assert_eq!(told(HintTiming::Late, 10), [5, 6, 7, 8, 9, 10]);
    assert_eq!(told(HintTiming::Urgent, 5), [4, 5]);
    assert_eq!(told(HintTiming::Urgent, 1), [1]);
    let hint = iteration_hint(HintTiming::Always);
    for (iteration, max, text) in [
        (1, 10, "[Reply 1 of 10: 9 left.]"),
        (8, 10, "[Reply 8 of 10: 2 left. Finish now.]"),
        (10, 10, "[Reply 10 of 10: the last one. Finish now.]"),
        // Nothing divides by zero or overflows.
        (1, 0, "[Reply 1 of 0: the last one. Finish now.]"),
        (
            u32::MAX,
            u32::MAX,
            "[Reply 4294967295 of 4294967295: the last one. Finish now.]",
        ),
    ] {
        assert_eq!(hint.message(&at(iteration, max)).as_deref(), Some(text));
    }
}

#[test]
fn few_calls_add_a_hint_about_parallel_calls() {
    let hint = parallel_hint(3);
    for (calls_before, told) in [
        (None, false),
        (Some(0), false),
        (Some(1), true),
        (Some(2), true),
        (Some(3), false),
    ] {
        let standing = RunStatus {
            calls_before,
            ..at(2, 5)
        };
        assert_eq!(hint.message(&standing).is_some(), told, "{calls_before:?}");
    }
}
