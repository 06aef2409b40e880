//! Requests that are sent again: only while nothing has acted on the reply.

use gadgetry_proto::delta::{Delta, StopReason};
use gadgetry_proto::error::{ModelError, ModelErrorKind};
use gadgetry_proto::event::EventKind;
use gadgetry_proto::message::{Message, Request, Role};
use gadgetry_proto::run::{Command, Decision, Input, QuestionKind, Retry};
use gadgetry_proto::usage::{Price, Usage};

use crate::support::sim::play;
use crate::support::sim::script::{Finish, Piece, Reply, Script, block, gadget};
use crate::support::sim::transcript::{check, lines};

/// 10 ms, then 20, then 40; no variation.
fn steady() -> Retry {
    Retry {
        min_ms: 10,
        max_ms: 100,
        jitter: false,
        ..Retry::default()
    }
}

pub(crate) fn retrying() -> Script {
    Script::default()
        .gadget(gadget("Bell"))
        .with(|spec| spec.retry = Some(steady()))
}

fn no_line() -> Finish {
    Finish::Error("no line".to_owned())
}

fn error(kind: ModelErrorKind, retry_after_ms: Option<u64>) -> Piece {
    Piece::Delta(Delta::Error(
        ModelError::new(kind, "sorry").with_retry_after_ms(retry_after_ms),
    ))
}

/// The model says this and then the connection breaks.
pub(crate) fn broken_behind(pieces: Vec<Piece>) -> Reply {
    Reply {
        finish: no_line(),
        ..Reply::stop(pieces)
    }
}

/// What the model was asked.
pub(crate) fn requests(script: &Script) -> Vec<Request> {
    let log = play(script);
    log.requests().into_iter().cloned().collect()
}

#[test]
fn a_request_is_sent_again_with_the_same_number_and_then_no_more() {
    let failing = |times: usize| {
        let replies = (0..times).map(|_| broken_behind(Vec::new()));
        replies.fold(retrying(), Script::replies)
    };
    check(
        &failing(2),
        &[
            "0 ask 1",
            "0 reply error: no line",
            "0 retry 1 in 10: no line",
            "10 ask 1",
            "10 reply error: no line",
            "10 retry 2 in 20: no line",
            "30 ask 1",
            "30 text fin",
            "30 end completed after 1: fin",
        ],
    );
    check(
        &failing(4),
        &[
            "0 ask 1",
            "0 reply error: no line",
            "0 retry 1 in 10: no line",
            "10 ask 1",
            "10 reply error: no line",
            "10 retry 2 in 20: no line",
            "30 ask 1",
            "30 reply error: no line",
            "30 retry 3 in 40: no line",
            "70 ask 1",
            "70 reply error: no line",
            "70 end modelError after 1 (no line): ",
        ],
    );
}

/// Each request has its own retries.
#[test]
fn retries_are_counted_per_request() {
    let mut script = retrying().replies(broken_behind(Vec::new()));
    script = script.reply(block("Bell:a", &[]));
    script = script.replies(broken_behind(Vec::new()));
    check(
        &script,
        &[
            "0 ask 1",
            "0 reply error: no line",
            "0 retry 1 in 10: no line",
            "10 ask 1",
            "10 call a Bell",
            "10 start a {}",
            "10 ok a: ok Bell",
            "  told Result (a): ok Bell",
            "10 ask 2",
            "10 reply error: no line",
            "10 retry 1 in 10: no line",
            "20 ask 2",
            "20 text fin",
            "20 end completed after 2: fin",
        ],
    );
}

#[test]
fn only_retryable_errors_are_retried() {
    use ModelErrorKind as Kind;
    for (kind, asked) in [
        (Kind::RateLimit, 2),
        (Kind::Overloaded, 2),
        (Kind::Transport, 2),
        (Kind::Truncated, 2),
        (Kind::Authentication, 1),
        (Kind::ContextOverflow, 1),
        (Kind::BadRequest, 1),
        (Kind::ContentFilter, 1),
        (Kind::Other, 1),
    ] {
        for finish in [Finish::Stop, Finish::Disconnect, no_line()] {
            let reply = Reply {
                finish,
                ..Reply::stop(vec![error(kind, None)])
            };
            let script = retrying().replies(reply);
            assert_eq!(requests(&script).len(), asked, "{kind:?}");
        }
    }
    for (finish, asked) in [
        (Finish::Disconnect, 2),
        (no_line(), 2),
        (Finish::Length, 1),
        (Finish::Filter, 1),
    ] {
        let script = retrying().reply_cut("", finish.clone());
        assert_eq!(requests(&script).len(), asked, "{finish:?}");
    }
}

#[test]
fn without_retries_nothing_is_sent_again() {
    let mut script = retrying().reply_cut("", no_line());
    script.base.retry = None;
    assert_eq!(requests(&script).len(), 1);
    script.base.retry = Some(Retry {
        retries: 0,
        ..steady()
    });
    assert_eq!(requests(&script).len(), 1);
}

/// The start of a marker in the first attempt does not grow together with the second one.
#[test]
fn attempts_do_not_run_together() {
    let script = retrying()
        .replies(broken_behind(vec![Piece::Text("!!!GADGET_ST".to_owned())]))
        .reply("ART:Bell:a\n!!!GADGET_END\n");
    let log = play(&script);
    assert_eq!(log.summary.answer, "ART:Bell:a\n!!!GADGET_END\n");
    assert_eq!(log.told(), []);
}

#[test]
fn the_delay_of_the_provider_is_used() {
    for (asked_ms, line) in [
        // At least a quarter of our own delay.
        (0, "0 retry 1 in 2: sorry"),
        (1, "0 retry 1 in 2: sorry"),
        (7, "0 retry 1 in 7: sorry"),
        // Longer than any delay of our own.
        (120_000, "0 retry 1 in 120000: sorry"),
        (120_001, "0 end modelError after 1 (sorry): "),
        (u64::MAX, "0 end modelError after 1 (sorry): "),
    ] {
        let pieces = vec![error(ModelErrorKind::RateLimit, Some(asked_ms))];
        let found = lines(&play(&retrying().replies(Reply::stop(pieces))));
        assert!(found.contains(&line.to_owned()), "{asked_ms}: {found:#?}");
    }
}

/// Clients that were refused together do not come back together, and none before it may.
#[test]
fn the_delay_of_the_provider_is_extended_by_jitter() {
    for (asked, attempt, within) in [
        (0, 1, 250..=500),
        (0, 3, 1000..=2000),
        (100, 1, 250..=500),
        (7_000, 1, 7_000..=7_250),
        (7_000, 3, 7_000..=8_000),
        (120_000, 1, 120_000..=120_250),
    ] {
        let delays = (0..100).map(|seed| {
            let retry = Retry {
                seed,
                ..Retry::default()
            };
            retry.delay_ms(1, attempt, Some(asked)).expect("a delay")
        });
        let delays: std::collections::BTreeSet<u64> = delays.collect();
        assert!(delays.len() > 50, "{asked}: {delays:?}");
        assert!(
            delays.iter().all(|it| within.contains(it)),
            "{asked}: {delays:?}"
        );
    }
}

#[test]
fn delays_grow_vary_and_stay_within_their_bounds() {
    let retry = Retry {
        retries: 40,
        ..Retry::default()
    };
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..50 {
        for iteration in 1..5 {
            for attempt in 1..=40 {
                let retry = Retry {
                    seed,
                    ..retry.clone()
                };
                let steady = Retry {
                    jitter: false,
                    ..retry.clone()
                };
                let middle = steady.delay_ms(iteration, attempt, None).expect("a delay");
                assert_eq!(
                    middle,
                    1000_u64.saturating_mul(1 << (attempt - 1)).min(30_000)
                );
                let delay = retry.delay_ms(iteration, attempt, None).expect("a delay");
                assert!(delay >= middle / 2, "{delay} of {middle}");
                assert!(
                    delay <= (middle + middle / 2).min(30_000),
                    "{delay} of {middle}"
                );
                assert_eq!(retry.delay_ms(iteration, attempt, None), Some(delay));
                seen.insert(delay);
            }
        }
    }
    assert!(seen.len() > 1000, "{} delays", seen.len());
    assert_eq!(retry.delay_ms(1, 41, None), None);
}

#[test]
fn extreme_settings_keep_delays_within_bounds() {
    for factor in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
        for (min_ms, max_ms) in [(0, 0), (0, 50), (50, 10), (u64::MAX, u64::MAX)] {
            for attempt in [1, 2, u32::MAX] {
                let retry = Retry {
                    retries: u32::MAX,
                    min_ms,
                    max_ms,
                    factor,
                    ..Retry::default()
                };
                let delay = retry.delay_ms(1, attempt, None).expect("a delay");
                assert!(delay <= max_ms, "{retry:?}: {delay}");
            }
        }
    }
}

#[test]
fn a_reply_with_nothing_in_it_is_a_failure() {
    let empty = |text: &str| retrying().reply(text);
    for text in ["", " \n\n"] {
        check(
            &empty(text),
            &[
                "0 ask 1",
                "0 reply stop: the reply was empty",
                "0 retry 1 in 10: the reply was empty",
                "10 ask 1",
                "10 text fin",
                "10 end completed after 1: fin",
            ],
        );
    }
    let mut off = empty("");
    off.base.retry = Some(Retry {
        on_empty: false,
        ..steady()
    });
    check(&off, &["0 ask 1", "0 end completed after 1: "]);
    // The last one is taken as it is; nobody is asked about it.
    let mut once = empty("")
        .reply("")
        .with(|spec| spec.asks.model_error = true);
    once.base.retry = Some(Retry {
        retries: 1,
        ..steady()
    });
    check(
        &once,
        &[
            "0 ask 1",
            "0 reply stop: the reply was empty",
            "0 retry 1 in 10: the reply was empty",
            "10 ask 1",
            "10 end modelError after 1 (the reply was empty): ",
        ],
    );
}

#[test]
fn the_hook_decides_when_no_retry_is_left() {
    let mut script = retrying()
        .reply_cut("", no_line())
        .reply_cut("", no_line())
        .with(|spec| spec.asks.model_error = true)
        .decides(|question| {
            matches!(question, QuestionKind::ModelError { .. })
                .then(|| Decision::Reply("Given.".to_owned()))
        });
    script.base.retry = Some(Retry {
        retries: 1,
        ..steady()
    });
    check(
        &script,
        &[
            "0 ask 1",
            "0 reply error: no line",
            "0 retry 1 in 10: no line",
            "10 ask 1",
            "10 reply error: no line",
            "10 question modelError transport: no line",
            "10 text Given.",
            "10 end completed after 1: Given.",
        ],
    );
}

/// No model was asked, so there is none to ask again.
#[test]
fn an_empty_reply_of_the_hook_is_not_retried() {
    let script = retrying()
        .with(|spec| spec.asks.before_model_call = true)
        .decides(|_| Some(Decision::Reply(String::new())));
    check(
        &script,
        &["0 question beforeModelCall 1", "0 end completed after 1: "],
    );
}

/// A retry is the same request, also where somebody has put it in the place of the run's own.
#[test]
fn a_changed_request_is_sent_again_as_it_was_changed() {
    let instead = Request::default()
        .messages(vec![Message::text(Role::User, "Instead")])
        .trailing(vec![Message::text(Role::User, "Hurry")]);
    let sent = instead.clone();
    let script = retrying()
        .reply_cut("", no_line())
        .reply(block("Bell:a", &[]))
        .reply_cut("", no_line())
        .with(|spec| spec.asks.before_model_call = true)
        .decides(move |question| {
            let first = matches!(question, QuestionKind::BeforeModelCall { request } if request.iteration == 1);
            first.then(|| Decision::Request(sent.clone()))
        });
    let requests = requests(&script);
    let numbers: Vec<u32> = requests.iter().map(|request| request.iteration).collect();
    assert_eq!(numbers, [1, 1, 2, 2]);
    assert_eq!(requests[0].messages, instead.messages);
    assert_eq!(requests[0], requests[1]);
    assert_ne!(requests[1].messages, requests[2].messages);
    assert_eq!(requests[2], requests[3]);
}

#[test]
fn a_message_of_the_user_does_not_change_a_retry() {
    let script = retrying()
        .reply_cut("", no_line())
        .at(5, Command::Inject("More".to_owned()));
    check(
        &script,
        &[
            "0 ask 1",
            "0 reply error: no line",
            "0 retry 1 in 10: no line",
            "10 ask 1",
            "10 text fin",
            "  told More",
            "10 ask 2",
            "10 text fin",
            "10 end completed after 2: fin",
        ],
    );
}

#[test]
fn a_run_cancelled_between_two_attempts_is_over_at_once() {
    check(
        &retrying().reply_cut("", no_line()).at(5, Command::Cancel),
        &[
            "0 ask 1",
            "0 reply error: no line",
            "0 retry 1 in 10: no line",
            "5 end cancelled after 1: ",
        ],
    );
}

fn priced(script: Script) -> Script {
    let price = Price::default().input(1e6);
    script.with(|spec| spec.price = Some(price))
}

fn failed_for(input_tokens: u64) -> Reply {
    let usage = Usage::default().input_tokens(input_tokens);
    Reply {
        usage: Some(usage),
        ..broken_behind(Vec::new())
    }
}

#[test]
fn attempts_that_failed_have_cost_something() {
    let script = priced(retrying())
        .replies(failed_for(2))
        .replies(failed_for(3));
    check(
        &script,
        &[
            "0 ask 1",
            "0 reply error $2: no line",
            "0 retry 1 in 10: no line",
            "10 ask 1",
            "10 reply error $3: no line",
            "10 retry 2 in 20: no line",
            "30 ask 1",
            "30 text fin",
            "30 end completed after 1 $5: fin",
        ],
    );
}

#[test]
fn a_budget_holds_for_retries_too() {
    let script = priced(retrying())
        .replies(failed_for(2))
        .with(|spec| spec.budget = Some(2.0));
    check(
        &script,
        &[
            "0 ask 1",
            "0 reply error $2: no line",
            "0 retry 1 in 10: no line",
            "10 end budgetExceeded after 1 $2: ",
        ],
    );
    let script = retrying()
        .reply_cut("", no_line())
        .with(|spec| spec.budget = Some(2.0))
        .input_at(5, Input::ExternalSpend(2.0));
    check(
        &script,
        &[
            "0 ask 1",
            "0 reply error: no line",
            "0 retry 1 in 10: no line",
            "10 end budgetExceeded after 1: ",
        ],
    );
}

/// A reply with a call is never read twice, so its gadget never runs twice.
#[test]
fn a_gadget_that_has_started_is_not_started_by_a_retry() {
    let reply = broken_behind(vec![Piece::Text(block("Bell:a", &[]))]);
    check(
        &retrying().replies(reply),
        &[
            "0 ask 1",
            "0 call a Bell",
            "0 start a {}",
            "0 reply error: no line",
            "0 ok a: ok Bell",
            "  told Result (a): ok Bell",
            "0 ask 2",
            "0 text fin",
            "0 end completed after 2: fin",
        ],
    );
}

/// The model said why it stopped, but nothing else.
#[test]
fn an_error_for_a_reason_is_no_empty_reply() {
    let end = Piece::Delta(Delta::MessageEnd {
        stop_reason: StopReason::Error,
        usage: None,
    });
    let reply = Reply {
        finish: Finish::Disconnect,
        ..Reply::stop(vec![end])
    };
    check(
        &retrying().replies(reply),
        &[
            "0 ask 1",
            "0 reply error: the model stopped with an error",
            "0 end modelError after 1 (the model stopped with an error): ",
        ],
    );
}

#[test]
fn a_retry_says_how_many_are_left() {
    let broken = || broken_behind(vec![Piece::Text("So".to_owned())]);
    let script = retrying().replies(broken()).replies(broken());
    let retries = steady().retries;
    let mut left = Vec::new();
    for event in play(&script).events() {
        if let EventKind::ModelRetry { left: more, .. } = &event.kind {
            left.push(*more);
        }
    }
    assert_eq!(left, [retries - 1, retries - 2]);
}
