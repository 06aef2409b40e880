//! Two properties of runs, on random scripts: saved after any input and loaded again, a run goes on as if nothing had
//! been; and where the model's text is cut changes nothing but where deltas are cut.

use std::collections::BTreeSet;

use gadgetry_proto::event::EventKind;
use gadgetry_proto::run::{Input, Output, Run, Snapshot};
use proptest::prelude::*;

use crate::support::cut;
use crate::support::sim::random;
use crate::support::sim::script::{Piece, Reply, Script};
use crate::support::sim::{Log, drain, play, play_with_interruptions};

proptest! {
    #[test]
    fn a_restored_run_continues_identically(seed in any::<u64>()) {
        let script = random::script(seed, true);
        let log = play(&script);
        let mut run = Run::new(&script.plan(), script.conversation.clone());
        for (step, expected) in log.outputs.iter().enumerate() {
            if let Some((time, input)) = step.checked_sub(1).map(|at| &log.inputs[at]) {
                run.handle(*time, input.clone()).expect("it was taken before");
            }
            // With all outputs still to come, with some, and with none.
            run = reloaded(&run, &script);
            let first = run.poll();
            prop_assert_eq!(&first, &expected[0], "first output of step {}", step);
            if expected.len() > 1 {
                run = reloaded(&run, &script);
                prop_assert_eq!(&drain(&mut run)[..], &expected[1..], "step {}", step);
            }
            run = reloaded(&run, &script);
        }
        prop_assert_eq!(run.history(), &log.history[..]);
    }

    #[test]
    fn where_the_text_is_cut_changes_nothing(seed in any::<u64>(), cuts in any::<u64>()) {
        let script = random::script(seed, false);
        let (whole, pieces) = (play(&script), play(&cut_elsewhere(&script, cuts)));
        prop_assert_eq!(&pieces.summary, &whole.summary);
        prop_assert_eq!(&pieces.history, &whole.history);
        prop_assert_eq!(pieces.requests(), whole.requests());
        prop_assert_eq!(joined(&pieces), joined(&whole));
    }
}

/// A call ends the reply early, and more calls follow in the same piece: their automatic ids do not count.
#[test]
fn a_cut_after_an_early_end_changes_no_id() {
    let script = random::script(18_186_412_610_338_072_729, false);
    let (whole, pieces) = (
        play(&script),
        play(&cut_elsewhere(&script, 893_589_148_210)),
    );
    assert_eq!(pieces.history, whole.history);
}

/// Seeds of scripts that have failed a check before, whatever the generator makes of them today.
#[test]
fn scripts_that_have_failed_before() {
    for seed in [
        5_418_816_611_499_024_079,
        10_124_202_738_476_872_277,
        13_327_805_314_996_514_792,
        9_048_476_952_064_621_075,
        13_276_603_678_394_408_700,
    ] {
        play(&random::script(seed, true));
        play(&random::script(seed, false));
    }
}

proptest! {
    /// The invariants of all runs hold: each call is answered once, nothing that has ended starts again, costs add up.
    #[test]
    fn an_interrupted_run_continues_by_itself(seed in any::<u64>(), at in prop::array::uniform3(any::<usize>())) {
        let script = random::script(seed, true);
        let whole = play(&script);
        let kills = at.map(|at| at % (2 * whole.inputs.len() + 1));
        let log = play_with_interruptions(&script, &kills);
        let ended = log.all().filter(|output| matches!(output, Output::Finished(_)));
        prop_assert_eq!(ended.count(), 1);
    }
}

/// The interruptions are worth something only if gadgets of each policy are running, in all states.
#[test]
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test is about a few variants of many"
)]
fn random_interruptions_have_everything() {
    let mut seen = BTreeSet::new();
    for seed in 0..1200 {
        let script = random::script(seed, true);
        // Most of what is expected needs a user.
        if !script.base.asks.human && seed % 8 > 0 {
            continue;
        }
        let whole = play(&script);
        for at in (1..=whole.inputs.len()).step_by(4) {
            let log = play_with_interruptions(&script, &[at, at + 3]);
            let kills = log.inputs.iter().zip(&log.outputs[1..]);
            let kills = kills.filter(|((_, input), _)| *input == Input::Interrupted);
            for output in kills.flat_map(|(_, outputs)| outputs) {
                match output {
                    Output::Ask(question) => {
                        seen.insert(format!("ask {}", first_word(&question.kind)));
                    }
                    Output::Event(event) => match &event.kind {
                        EventKind::GadgetRestarted { .. } => {
                            seen.insert("restarted".to_owned());
                        }
                        EventKind::GadgetResult { cost, .. } if *cost > 0.0 => {
                            seen.insert("failed with a cost".to_owned());
                        }
                        EventKind::GadgetCost { .. } => {
                            seen.insert("cancelled with a cost".to_owned());
                        }
                        EventKind::ReplyWithdrawn { .. } => {
                            seen.insert("reply withdrawn".to_owned());
                        }
                        _ => {}
                    },
                    _ => {}
                }
            }
        }
    }
    let expected: BTreeSet<String> = [
        "ask AfterGadget",
        "ask AfterModelCall",
        "ask BeforeGadget",
        "ask BeforeModelCall",
        "ask DependencySkipped",
        "ask Human",
        "ask Input",
        "ask Interrupted",
        "ask ModelError",
        "cancelled with a cost",
        "failed with a cost",
        "reply withdrawn",
        "restarted",
    ]
    .map(str::to_owned)
    .into();
    let missing: Vec<&String> = expected.difference(&seen).collect();
    assert!(missing.is_empty(), "missing: {missing:#?}");
}

/// The random runs are worth something only if all that may happen does happen in some.
#[test]
fn random_runs_have_everything() {
    let mut seen = BTreeSet::new();
    for seed in 0..1600 {
        let log = play(&random::script(seed, true));
        for (_, input) in &log.inputs {
            if let Input::Decision(_, decision) = input {
                seen.insert(format!("decision {}", first_word(decision)));
            }
        }
        for output in log.all() {
            match output {
                Output::Ask(question) => {
                    seen.insert(format!("question {}", first_word(&question.kind)));
                }
                Output::Event(event) if event.depth() > 0 => {
                    seen.insert(format!("event at depth {}", event.depth()));
                }
                Output::Event(event) => {
                    let kind = serde_json::to_value(&event.kind).expect("an event is JSON");
                    seen.insert(format!("event {}", kind["type"].as_str().expect("a type")));
                }
                Output::Send(_)
                | Output::CloseModel
                | Output::Start(_)
                | Output::Cancel(_)
                | Output::Wait(_)
                | Output::Finished(_) => {}
            }
        }
        for (_, text) in log.told() {
            let words = [
                "[Gadget",
                "[Mode",
                "No lines",
                "Error: No stored",
                "Error: Invalid",
            ];
            let began = words.into_iter().find(|begin| text.starts_with(begin));
            seen.extend(began.map(|begin| format!("told {begin}")));
        }
        seen.insert(format!("end {:?}", log.summary.reason));
    }
    let expected: BTreeSet<String> = EVERYTHING.into_iter().map(str::to_owned).collect();
    let missing: Vec<&String> = expected.difference(&seen).collect();
    assert!(missing.is_empty(), "missing: {missing:#?}\nof {seen:#?}");
}

const EVERYTHING: [&str; 55] = [
    "decision AfterReply",
    "decision Deny",
    "decision Execute",
    "decision Parameters",
    "decision Proceed",
    "decision Reply",
    "decision Request",
    "decision Result",
    "decision Stop",
    "end BudgetExceeded",
    "end Cancelled",
    "end Completed",
    "end GadgetError",
    "end MaxIterations",
    "end ModelError",
    "end Stopped",
    "end TaskCompleted",
    "end Truncated",
    "event at depth 1",
    "event at depth 2",
    "event custom_block",
    "event custom_block_delta",
    "event custom_block_end",
    "event custom_block_start",
    "event diagnostic",
    "event gadget_args_partial",
    "event gadget_call",
    "event gadget_call_start",
    "event gadget_cost",
    "event gadget_progress",
    "event gadget_result",
    "event gadget_skipped",
    "event gadget_start",
    "event human_input_received",
    "event human_input_required",
    "event iteration_end",
    "event model_call_end",
    "event model_call_start",
    "event model_retry",
    "event rate_limited",
    "event reasoning",
    "event run_finished",
    "event text",
    "question AfterGadget",
    "question AfterModelCall",
    "question BeforeGadget",
    "question BeforeModelCall",
    "question DependencySkipped",
    "question Human",
    "question Input",
    "question ModelError",
    "told Error: Invalid",
    "told Error: No stored",
    "told [Gadget",
    "told [Mode",
];

/// The name of an enum's variant.
fn first_word(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let end = text.find(|c: char| !c.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

/// Saved as JSON text, and loaded.
fn reloaded(run: &Run, script: &Script) -> Run {
    let saved = serde_json::to_string(&run.save()).expect("a snapshot is JSON");
    let snapshot: Snapshot = serde_json::from_str(&saved).expect("its own JSON");
    Run::load(&script.plan(), snapshot).expect("its own version")
}

/// The same script, each text in random pieces, or character by character.
fn cut_elsewhere(script: &Script, seed: u64) -> Script {
    let pieces = |piece: &Piece| match piece {
        Piece::Text(text) => {
            let pieces = if seed.is_multiple_of(4) {
                cut::characters(text)
            } else {
                cut::random(text, seed)
            };
            let text = |piece: &str| Piece::Text(piece.to_owned());
            pieces.into_iter().map(text).collect()
        }
        Piece::Delta(_) | Piece::Pause(_) => vec![piece.clone()],
    };
    let replies = script.replies.iter().map(|reply| Reply {
        pieces: reply.pieces.iter().flat_map(pieces).collect(),
        ..reply.clone()
    });
    Script {
        replies: replies.collect(),
        ..script.clone()
    }
}

/// The events with their times, adjacent deltas of one thing joined.
fn joined(log: &Log) -> Vec<(u64, EventKind)> {
    let mut joined: Vec<(u64, EventKind)> = Vec::new();
    for output in log.all() {
        let Output::Event(event) = output else {
            continue;
        };
        let last = joined.last_mut().map(|(_, kind)| kind);
        if !last.is_some_and(|last| is_more(last, &event.kind)) {
            joined.push((event.time.0, event.kind.clone()));
        }
    }
    joined
}

/// Whether `next` is more of `last`, to which it is then added.
fn is_more(last: &mut EventKind, next: &EventKind) -> bool {
    match (last, next) {
        (EventKind::Text { text }, EventKind::Text { text: more })
        | (EventKind::Reasoning { text }, EventKind::Reasoning { text: more }) => {
            text.push_str(more);
            true
        }
        (
            EventKind::GadgetArgsPartial { call, args },
            EventKind::GadgetArgsPartial {
                call: other,
                args: more,
            },
        ) if !args.is_field_complete => {
            assert_eq!(call, other, "an open call");
            assert_eq!(args.field_path, more.field_path, "an open field");
            args.delta.push_str(&more.delta);
            args.is_field_complete = more.is_field_complete;
            true
        }
        (EventKind::CustomBlockDelta(block), EventKind::CustomBlockDelta(more))
            if block.block_id == more.block_id =>
        {
            block.delta.push_str(&more.delta);
            true
        }
        _ => false,
    }
}
