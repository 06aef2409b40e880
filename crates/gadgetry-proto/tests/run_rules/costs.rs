//! What a run costs.

use gadgetry_proto::event::EventKind;
use gadgetry_proto::run::{Command, Decision, QuestionKind};
use gadgetry_proto::usage::{Price, Usage};

use crate::support::sim::play;
use crate::support::sim::script::{Behaviour, Finish, Piece, Reply, Script, block, gadget};

#[track_caller]
fn total(script: &Script, expected: f64) {
    let found = play(script).summary.known_cost;
    assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
}

fn calls(gadgets: impl IntoIterator<Item = Behaviour>) -> Script {
    let mut script = Script::default();
    let mut reply = String::new();
    for gadget in gadgets {
        reply += &block(&gadget.spec.name, &[]);
        script = script.gadget(gadget);
    }
    script.reply(reply)
}

#[test]
fn results_failures_and_completions_are_summed() {
    total(
        &calls([
            gadget("A").costs(0.25),
            gadget("B").costs(0.5).fails("no"),
            gadget("C").costs(1.0).finishes("done"),
        ]),
        1.75,
    );
}

#[test]
fn invalid_amounts_are_rejected() {
    total(
        &calls([
            gadget("A").costs(1.0),
            gadget("B").costs(-5.0),
            gadget("C").costs(f64::NAN),
            gadget("D").costs(f64::INFINITY),
            gadget("E").costs(f64::NEG_INFINITY),
        ]),
        1.0,
    );
    // The sum stays a number, too.
    let total = play(&calls([
        gadget("A").costs(f64::MAX),
        gadget("B").costs(f64::MAX),
    ]));
    assert!(total.summary.known_cost.is_finite());
}

fn priced(finish: Finish) -> Script {
    let reply = Reply {
        pieces: vec![Piece::Text("Hello".to_owned())],
        finish,
        usage: Some(
            Usage::default()
                .input_tokens(1_000)
                .cached_input_tokens(400)
                .output_tokens(100),
        ),
    };
    let price = Price::default().input(2.0).output(10.0).cached_input(0.5);
    Script::default()
        .with(|spec| spec.price = Some(price))
        .replies(reply)
}

#[test]
fn model_calls_have_their_price_however_they_end() {
    let dollars = (600.0 * 2.0 + 400.0 * 0.5 + 100.0 * 10.0) / 1e6;
    for finish in [
        Finish::Stop,
        Finish::Length,
        Finish::Filter,
        Finish::Disconnect,
        Finish::Error("overloaded".to_owned()),
    ] {
        total(&priced(finish), dollars);
    }
}

/// What is not known is not 0, and what is known is counted all the same.
#[test]
fn a_model_call_without_a_price_makes_the_total_unknown() {
    let mut unknown = priced(Finish::Stop);
    unknown.base.price = None;
    let summary = |script: &Script| {
        let summary = play(script).summary;
        (summary.total_cost, summary.known_cost)
    };
    assert_eq!(summary(&unknown), (None, 0.0));
    let with_gadget = calls([gadget("A").costs(0.25)]);
    assert_eq!(summary(&with_gadget), (None, 0.25));
    // What the provider says itself is known, and goes before the price.
    for price in [None, Some(Price::default().input(9.0))] {
        let mut told = priced(Finish::Stop);
        let usage = Usage::default().cost(0.0123);
        told = told.with(|spec| spec.price = price.clone());
        told.replies
            .iter_mut()
            .for_each(|reply| reply.usage = Some(usage));
        assert_eq!(summary(&told), (Some(0.0123), 0.0123), "{price:?}");
    }
}

#[test]
fn an_invalid_price_is_rejected() {
    for input in [f64::NAN, f64::INFINITY, -1.0] {
        let price = Price::default().input(input);
        total(
            &priced(Finish::Stop).with(|spec| spec.price = Some(price)),
            0.0,
        );
    }
}

#[test]
fn a_cancelled_run_counts_what_it_knows() {
    let mut script = priced(Finish::Stop).at(5, Command::Cancel);
    script.replies[0].pieces.insert(
        0,
        Piece::Delta(gadgetry_proto::delta::Delta::Usage {
            usage: Usage::default().input_tokens(1_000),
        }),
    );
    script.replies[0].pieces.push(Piece::Pause(10));
    total(&script, 0.002);
}

/// A provider that tells no counts has not answered for nothing.
#[test]
fn unknown_usage_is_estimated_and_marked() {
    let price = Price::default().output(1e6);
    let untold = || {
        Script::default()
            .with(|spec| spec.price = Some(price.clone()))
            .reply("x".repeat(400))
    };
    total(&untold(), 100.0);
    let log = play(&untold());
    let estimated = log.events().filter(
        |event| matches!(&event.kind, EventKind::ModelCallEnd { usage, .. } if usage.estimated),
    );
    assert_eq!(estimated.count(), 1);
    // Where no model was asked, nothing is charged.
    let given = untold()
        .with(|spec| spec.asks.before_model_call = true)
        .decides(|question| {
            matches!(question, QuestionKind::BeforeModelCall { .. })
                .then(|| Decision::Reply("y".repeat(400)))
        });
    total(&given, 0.0);
}
