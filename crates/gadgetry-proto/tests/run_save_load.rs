//! Two properties of runs, on random scripts: saved after any input and loaded again, a run goes on as if nothing had
//! been; and where the model's text is cut changes nothing but where deltas are cut.

#[path = "support/sim/mod.rs"]
mod sim;
mod support;

#[path = "support/sim/random.rs"]
mod random;

use gadgetry_proto::event::EventKind;
use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Output, Run, Snapshot};
use proptest::prelude::*;

use sim::script::{Piece, Reply, Script};
use sim::{Log, drain, play};
use support::cut;

proptest! {
    #[test]
    fn a_run_goes_on_where_it_was_saved(seed in any::<u64>()) {
        let script = random::script(seed, true);
        let log = play(&script);
        let mut run = Run::new(script.spec(), script.conversation.clone()).expect("good tags");
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
        prop_assert_eq!(requests(&pieces), requests(&whole));
        prop_assert_eq!(joined(&pieces), joined(&whole));
    }
}

/// Saved as JSON text, and loaded.
fn reloaded(run: &Run, script: &Script) -> Run {
    let saved = serde_json::to_string(&run.save()).expect("a snapshot is JSON");
    let snapshot: Snapshot = serde_json::from_str(&saved).expect("its own JSON");
    Run::load(script.spec(), snapshot).expect("good tags")
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

fn requests(log: &Log) -> Vec<Request> {
    let requests = log.all().filter_map(|output| {
        let Output::Send(request) = output else {
            return None;
        };
        Some(request.clone())
    });
    requests.collect()
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
            EventKind::GadgetArgsPartial {
                field_path,
                delta,
                is_field_complete,
                ..
            },
            EventKind::GadgetArgsPartial {
                field_path: path,
                delta: more,
                is_field_complete: complete,
                ..
            },
        ) if !*is_field_complete => {
            assert_eq!(field_path, path, "an open field");
            delta.push_str(more);
            *is_field_complete = *complete;
            true
        }
        (
            EventKind::CustomBlockDelta {
                block_id, delta, ..
            },
            EventKind::CustomBlockDelta {
                block_id: other,
                delta: more,
                ..
            },
        ) if *block_id == *other => {
            delta.push_str(more);
            true
        }
        _ => false,
    }
}
