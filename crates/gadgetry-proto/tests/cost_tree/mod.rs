//! The cost tree, folded from lists of events that are written as one line each:
//!
//! ```text
//! start 1                a model call starts (`sum-start`: for a summary)
//! end 1 0.25 10/5        it ends: dollars (`?`: not known), tokens in and out; `fail` after them makes it an error
//! retry 1 1              iteration, retry
//! call Search a          a block is complete; the call `a` has number 0, `b` 1 and so on, `a#3` has number 3
//! run Search a           its gadget starts
//! ok Search a 0.5 20     it is answered: dollars, milliseconds (`err`: with an error)
//! late Search a 0.5      it was answered before its end, and has cost this as well
//! skip Search a
//! finish completed 0.75  the run has finished
//! 0.a.1 start 1          in a subagent: number of the call, its id, number of the subagent; joined by `/`
//! ```

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![expect(
    clippy::float_cmp,
    reason = "the amounts here are sums of eighths, which are exact"
)]

mod lines;

use gadgetry_proto::event::EventKind;
use gadgetry_proto::tree::{CostTree, NodeId, NodeKind, Status};
use proptest::prelude::*;
use serde_json::json;

use lines::{event, events};

fn tree(lines: &[&str]) -> CostTree {
    let mut tree = CostTree::default();
    for event in events(lines) {
        tree.apply(&event);
    }
    tree
}

/// The table without its heading; and the total is what the run told, if it has finished.
#[track_caller]
fn check(lines: &[&str], expected: &[&str]) -> CostTree {
    let tree = tree(lines);
    let table = tree.render();
    let squeeze = |line: &str| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        cells.join(" ")
    };
    let got: Vec<String> = table.lines().skip(1).map(squeeze).collect();
    assert_eq!(got, expected, "\n{table}");
    if let Some(told) = lines.last().and_then(|line| line.strip_prefix("finish ")) {
        let told: Option<f64> = told.split_once(' ').unwrap().1.parse().ok();
        let close = match (tree.total(), told) {
            (Some(total), Some(told)) => (total - told).abs() < 1e-12,
            (total, told) => total == told,
        };
        assert!(close, "{:?} and not {told:?}", tree.total());
        let open: Vec<NodeId> = tree.nodes().map(|(id, _)| id).collect();
        let open: Vec<NodeId> = open
            .into_iter()
            .filter(|id| !tree.is_complete(*id))
            .collect();
        assert_eq!(open, [], "a run that has finished leaves nothing open");
    }
    tree
}

#[test]
fn a_run_of_two_replies_and_a_gadget() {
    let tree = check(
        &[
            "start 1",
            "call Search a",
            "run Search a",
            "end 1 0.25 100/20",
            "ok Search a 0.5 7",
            "start 2",
            "end 2 0.125 200/10",
            "finish completed 0.875",
        ],
        &[
            "0.875000 0.000000 300 30 70 run: completed",
            "0.250000 0.250000 100 20 30 reply 1: done",
            "0.500000 0.500000 0 0 7 Search a: done",
            "0.125000 0.125000 200 10 10 reply 2: done",
        ],
    );
    let all = tree.subtotal(NodeId::ROOT);
    assert_eq!(
        (all.replies, all.model(), all.gadgets),
        (0.375, Some(0.375), 0.5)
    );
    assert_eq!((all.model_calls, all.gadget_calls), (2, 1));
    assert_eq!(tree.children(NodeId::ROOT), [1, 2, 3].map(NodeId));
}

#[test]
fn the_table_is_aligned_and_harmless() {
    let tree = tree(&["call Se\u{1b}[31mrch a", "0.a.0 start 1"]);
    let expected = [
        " total $     own $  tokens in  out  ms  what\n",
        "0.000000  0.000000          0    0   -  run: running\n",
        "0.000000  0.000000          0    0   -    Se\u{fffd}[31mrch a: waiting\n",
        "0.000000  0.000000          0    0   -      subagent 0: running\n",
        "0.000000  0.000000          0    0   -        reply 1: running\n",
    ];
    assert_eq!(tree.render(), expected.concat());
}

#[test]
fn retries_are_calls_of_their_own() {
    let table = [
        "0.375000 0.000000 30 3 60 run: completed",
        "0.125000 0.125000 10 1 10 reply 1: failed",
        "0.250000 0.250000 20 2 10 reply 1, attempt 2: done",
        "0.000000 0.000000 0 0 10 reply 2: done",
    ];
    let mut lines = vec![
        "start 1",
        "end 1 0.125 10/1 fail",
        "retry 1 1",
        "start 1",
        "end 1 0.25 20/2",
        "start 2",
    ];
    lines.extend(["end 2 0", "finish completed 0.375"]);
    check(
        &lines,
        &[&["0.375000 0.000000 30 3 70 run: completed"], &table[1..]].concat(),
    );

    // The start of a failed call is all that is heard of it; then the retry, with and without a start.
    for (start, began_to_end) in [(&["start 1"][..], 10), (&[], 5)] {
        let lines = [&["start 1", "retry 1 1"], start, &["end 1 0.25 20/2"]].concat();
        let last = format!("0.250000 0.250000 20 2 {began_to_end} reply 1, attempt 2: done");
        check(
            &lines,
            &[
                "0.250000 0.000000 20 2 - run: running",
                "0.000000 0.000000 0 0 10 reply 1: failed",
                &last,
            ],
        );
    }
}

#[test]
fn compaction_counts() {
    let tree = check(
        &[
            "sum-start 3",
            "sum-end 3 0.5 900/100",
            "start 3",
            "end 3 0.25 50/5",
            "finish completed 0.75",
        ],
        &[
            "0.750000 0.000000 950 105 40 run: completed",
            "0.500000 0.500000 900 100 10 summary 3: done",
            "0.250000 0.250000 50 5 10 reply 3: done",
        ],
    );
    let all = tree.subtotal(NodeId::ROOT);
    assert_eq!(
        (all.summaries, all.replies, all.model()),
        (0.5, 0.25, Some(0.75))
    );
}

#[test]
fn an_id_that_comes_again_is_another_call() {
    check(
        &[
            "start 1",
            "call Search a",
            "call Search a#1",
            "err Search a#1 0 0",
            "run Search a",
            "end 1 0",
            "ok Search a 0.5 7",
            "start 2",
            "call Fetch a#2",
            "run Fetch a#2",
            "end 2 0",
            "err Fetch a#2 0.25 8",
            "finish maxIterations 0.75",
        ],
        &[
            "0.750000 0.000000 0 0 120 run: out of iterations",
            "0.000000 0.000000 0 0 50 reply 1: done",
            "0.500000 0.500000 0 0 7 Search a: done",
            "0.000000 0.000000 0 0 0 Search a: failed",
            "0.000000 0.000000 0 0 30 reply 2: done",
            "0.250000 0.250000 0 0 8 Fetch a: failed",
        ],
    );
}

/// A gadget that was interrupted starts its subagents again, under the same numbers.
#[test]
fn both_executions_of_an_interrupted_gadget_count() {
    check(
        &[
            "call Ask a",
            "run Ask a",
            "0.a.0 start 1",
            "0.a.0 end 1 0.5 1/1",
            "0.a.0 start 2",
            "again Ask a",
            "0.a.0 start 1",
            "0.a.0 end 1 0.25 2/2",
            "0.a.0 finish completed 0.25",
            "ok Ask a 1 30",
            "finish completed 1.75",
        ],
        &[
            "1.750000 0.000000 3 3 100 run: completed",
            "1.750000 1.000000 3 3 30 Ask a: done",
            "0.750000 0.000000 3 3 60 subagent 0: completed",
            "0.500000 0.500000 1 1 10 reply 1: done",
            "0.000000 0.000000 0 0 20 reply 2: abandoned",
            "0.250000 0.250000 2 2 10 reply 1: done",
        ],
    );
}

#[test]
fn subagents_hang_below_their_call_whatever_its_id() {
    let tree = check(
        &[
            "call Ask a",
            "run Ask a",
            "0.a.0 start 1",
            "0.a.1 start 1",
            "0.a.1 call Dig a",
            "0.a.1 run Dig a",
            "0.a.1/0.a.0 start 1",
            "0.a.1/0.a.0 end 1 1 3/1",
            "0.a.1/0.a.0 finish completed 1",
            "0.a.1 ok Dig a 0.5 30",
            "0.a.1 end 1 0.25 2/1",
            "0.a.1 finish completed 1.75",
            "0.a.0 end 1 0.25 1/1",
            "0.a.0 finish completed 0.25",
            "ok Ask a 0.125 90",
            "call Ask a#1",
            "run Ask a#1",
            "1.a.0 start 1",
            "1.a.0 end 1 4 1/1",
            "1.a.0 finish completed 4",
            "ok Ask a#1 0 90",
            "finish completed 6.125",
        ],
        &[
            "6.125000 0.000000 7 4 210 run: completed",
            "2.125000 0.125000 6 3 90 Ask a: done",
            "0.250000 0.000000 1 1 110 subagent 0: completed",
            "0.250000 0.250000 1 1 100 reply 1: done",
            "1.750000 0.000000 5 2 80 subagent 1: completed",
            "0.250000 0.250000 2 1 70 reply 1: done",
            "1.500000 0.500000 3 1 30 Dig a: done",
            "1.000000 0.000000 3 1 20 subagent 0: completed",
            "1.000000 1.000000 3 1 10 reply 1: done",
            "4.000000 0.000000 1 1 90 Ask a: done",
            "4.000000 0.000000 1 1 20 subagent 0: completed",
            "4.000000 4.000000 1 1 10 reply 1: done",
        ],
    );
    assert_eq!(tree.subtotal(NodeId::ROOT).gadgets, 0.625);
    assert_eq!(tree.subtotal(NodeId::ROOT).replies, 5.5);
    // The numbers tell the two apart even if the second call is written before the first event of the first one's subagent.
    check(
        &[
            "call Ask a",
            "err Ask a 0 9",
            "call Ask a#1",
            "0.a.0 end 1 0.5 1/1",
            "1.a.0 end 1 0.25 1/1",
        ],
        &[
            "0.750000 0.000000 2 2 - run: running",
            "0.500000 0.000000 1 1 9 Ask a: failed",
            "0.500000 0.000000 1 1 - subagent 0: running",
            "0.500000 0.500000 1 1 0 reply 1: done",
            "0.250000 0.000000 1 1 - Ask a: waiting",
            "0.250000 0.000000 1 1 - subagent 0: running",
            "0.250000 0.250000 1 1 0 reply 1: done",
        ],
    );
}

#[test]
fn nodes_that_are_cut_off_are_closed_and_counted() {
    // Out of time: answered without costs, with more events later. Another call of its id has failed before.
    check(
        &[
            "start 1",
            "call Slow a",
            "run Slow a",
            "err Slow a 0 5",
            "call Slow a#1",
            "call Never b#2",
            "call Skip c#3",
            "run Slow a#1",
            "1.a.0 start 1",
            "end 1 0.25 1/1",
            "err Slow a#1 0 50",
            "1.a.0 end 1 0.5 2/2",
            "1.a.0 start 2",
            "late Slow a#1 0.125",
            "skip Skip c#3",
            "finish cancelled 0.875",
        ],
        &[
            "0.875000 0.000000 3 3 150 run: cancelled",
            "0.250000 0.250000 1 1 90 reply 1: done",
            "0.000000 0.000000 0 0 5 Slow a: failed",
            "0.625000 0.125000 2 2 50 Slow a: failed",
            "0.500000 0.000000 2 2 20 subagent 0: abandoned",
            "0.500000 0.500000 2 2 30 reply 1: done",
            "0.000000 0.000000 0 0 30 reply 2: abandoned",
            "0.000000 0.000000 0 0 0 Never b: abandoned",
            "0.000000 0.000000 0 0 0 Skip c: skipped",
        ],
    );
}

#[test]
fn a_node_is_complete_when_all_below_is() {
    let mut tree = CostTree::default();
    for (line, complete) in [
        ("call Ask a", &[][..]),
        ("0.a.0 start 1", &[]),
        ("0.a.0 end 1 1", &[3]),
        ("0.a.0 finish completed 1", &[2, 3]),
        ("ok Ask a 0 5", &[1, 2, 3]),
        ("finish completed 1", &[0, 1, 2, 3]),
        // A subagent that goes on after its call was answered.
        ("0.a.0 start 2", &[3]),
        ("0.a.0 end 2 1", &[0, 1, 2, 3, 4]),
    ] {
        tree.apply(&event(0, line));
        let ids = tree.nodes().map(|(id, _)| id);
        let got: Vec<u32> = ids
            .filter(|id| tree.is_complete(*id))
            .map(|id| id.0)
            .collect();
        assert_eq!(got, complete, "after {line}");
    }
    assert!(!tree.is_complete(NodeId(99)));
    assert_eq!(tree.subtree_total(NodeId(99)), Some(0.0));
    assert_eq!(tree.children(NodeId(99)), []);
}

#[test]
fn a_tree_may_begin_in_the_middle_of_a_run() {
    check(
        &[
            "7.a.0/3.b.2 end 4 0.5 10/1",
            "7.a.0 ok Dig b#3 0.25 5",
            "err Search c 0.125 3",
            "end 9 1 5/5",
            "late Slow d 0.5",
            "finish stopped 10",
        ],
        &[
            "10.000000 7.625000 15 6 50 run: stopped",
            "0.750000 0.000000 10 1 0 ? a: abandoned",
            "0.750000 0.000000 10 1 50 subagent 0: abandoned",
            "0.750000 0.250000 10 1 5 Dig b: done",
            "0.500000 0.000000 10 1 10 subagent 2: abandoned",
            "0.500000 0.500000 10 1 0 reply 4: done",
            "0.125000 0.125000 0 0 3 Search c: failed",
            "1.000000 1.000000 5 5 0 reply 9: done",
            "0.500000 0.500000 0 0 0 Slow d: failed",
        ],
    );
}

#[test]
fn unknown_costs_are_not_in_the_total() {
    let unknown = &[
        "start 1",
        "call Ask a",
        "end 1 0.25 1/1",
        "0.a.0 end 1 ? 2/1",
    ][..];
    let tree = check(
        &[
            unknown,
            &[
                "0.a.0 finish completed ?",
                "ok Ask a 0.5 3",
                "finish completed ?",
            ],
        ]
        .concat(),
        &[
            "0.750000+ 0.000000 3 2 60 run: completed",
            "0.250000 0.250000 1 1 20 reply 1: done",
            "0.500000+ 0.500000 2 1 3 Ask a: done",
            "0.000000+ 0.000000 2 1 10 subagent 0: completed",
            "0.000000+ ? 2 1 0 reply 1: done",
        ],
    );
    let all = tree.subtotal(NodeId::ROOT);
    assert_eq!((all.total(), all.model(), all.gadgets), (None, None, 0.5));
    assert_eq!((all.known, all.unpriced), (0.75, 1));
    assert_eq!(tree.subtree_total(NodeId(1)), Some(0.25));

    // Before the first event that the tree has seen, there was a call without a price; the run says so, twice.
    let tree = check(
        &["end 2 0.25 1/1", "finish completed ?", "finish completed ?"],
        &[
            "0.250000+ ? 1 1 20 run: completed",
            "0.250000 0.250000 1 1 0 reply 2: done",
        ],
    );
    assert_eq!(tree.subtotal(NodeId::ROOT).unpriced, 1);
}

#[test]
fn invalid_amounts_count_as_zero() {
    for cost in ["-3", "NaN", "inf"] {
        let answer = format!("ok Search a {cost} 1");
        let end = format!("end 1 {cost} 1/1");
        let finish = format!("finish completed {cost}");
        assert_eq!(tree(&[&end, &answer, &finish]).total(), Some(0.0), "{cost}");
    }
}

#[test]
fn a_saved_tree_is_checked() {
    let mut saved = serde_json::to_value(tree(&["start 1", "0.a.0 start 1"])).unwrap();
    let back: CostTree = serde_json::from_value(saved.clone()).unwrap();
    assert_eq!(back.render().lines().count(), 6);
    let mut check = |pointer: &str, value: serde_json::Value, expected: &str| {
        let place = saved.pointer_mut(pointer).unwrap();
        let before = std::mem::replace(place, value);
        let error = serde_json::from_value::<CostTree>(saved.clone()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{pointer}");
        *saved.pointer_mut(pointer).unwrap() = before;
    };
    let root = "a cost tree begins with the node of the run itself";
    check("/nodes", json!([]), root);
    check("/nodes/0/parent", json!(0), root);
    let parent = "node 2 of the cost tree does not belong to a node before it";
    check("/nodes/2/parent", json!(2), parent);
    check("/nodes/2/parent", json!(null), parent);
    let missing = "the cost tree has no node 77";
    check("/cursors/0/modelCall", json!(77), missing);
    check("/cursors/0/agents/0/0", json!(77), missing);
}

/// One line of an event, of any run of a small family, in any order.
fn any_line() -> impl Strategy<Value = String> {
    let path = prop::sample::select(vec!["", "0.a.0 ", "0.a.1 ", "1.b.0 ", "0.a.0/1.b.0 "]);
    let id = prop::sample::select(vec!["a", "b"]);
    let what = (0..12_u8, 1..3_u32, 0..9_u32, id).prop_map(|(what, number, cost, id)| {
        // Quarters are summed exactly, in any order.
        let cost = f64::from(cost) / 4.0;
        match what {
            0 => format!("start {number}"),
            1 if cost > 2.0 => format!("end {number} ? 3/2"),
            1 => format!("end {number} {cost} 3/2"),
            2 => format!("end {number} {cost} 3/2 fail"),
            3 => format!("sum-start {number}"),
            4 => format!("sum-end {number} {cost} 3/2"),
            5 => format!("retry {number} 1"),
            6 => format!("call Search {id}"),
            7 => format!("run Search {id}"),
            8 => format!("ok Search {id} {cost} 5"),
            9 => format!("err Search {id} {cost} 5"),
            10 => format!("late Search {id} {cost}"),
            _ => format!("skip Search {id}"),
        }
    });
    (path, what).prop_map(|(path, what)| format!("{path}{what}"))
}

proptest! {
    #[test]
    fn every_dollar_and_token_is_counted_once(
        lines in prop::collection::vec(any_line(), 0..60),
        saved_at in 0..60_usize,
    ) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut tree = CostTree::default();
        let mut other = CostTree::default();
        let (mut dollars, mut tokens, mut unpriced) = (0.0, 0, 0);
        for event in events(&lines) {
            if let EventKind::ModelCallEnd { usage, .. } = &event.kind {
                tokens += usage.input_tokens;
            }
            dollars += event.kind.own_cost().unwrap_or_default();
            unpriced += u32::from(event.kind.own_cost().is_none());
            // A tree that was written down goes on like the one that was not.
            if event.seq == saved_at as u64 {
                let written = serde_json::to_string(&tree).unwrap();
                other = serde_json::from_str(&written).unwrap();
            }
            other.apply(&event);
            tree.apply(&event);
        }
        prop_assert_eq!(&other, &tree);
        let all = tree.subtotal(NodeId::ROOT);
        prop_assert_eq!((all.known, all.unpriced), (dollars, unpriced));
        prop_assert_eq!(tree.total(), (unpriced == 0).then_some(dollars));
        prop_assert_eq!(tree.tokens().input_tokens, tokens);
        for (id, node) in tree.nodes() {
            let below: Vec<_> = tree.children(id).iter().map(|child| tree.subtotal(*child)).collect();
            let known: f64 = below.iter().map(|child| child.known).sum();
            let unpriced: u32 = below.iter().map(|child| child.unpriced).sum();
            let s = node.subtotal;
            prop_assert_eq!(s.known, node.own_cost().unwrap_or_default() + known);
            prop_assert_eq!(s.unpriced, u32::from(node.own_cost().is_none()) + unpriced);
            prop_assert_eq!(s.known, s.replies + s.summaries + s.gadgets + s.unattributed);
            let open_below = tree.children(id).iter().any(|child| !tree.is_complete(*child));
            prop_assert_eq!(tree.is_complete(id), node.ended.is_some() && !open_below);
            if let NodeKind::Gadget { status, .. } | NodeKind::ModelCall { status, .. } = node.kind {
                let goes_on = matches!(status, Status::Waiting | Status::Running);
                prop_assert_eq!(node.ended.is_none(), goes_on);
            }
        }
        tree.apply(&event(99, &format!("finish completed {}", dollars + 1.5)));
        prop_assert_eq!(tree.subtotal(NodeId::ROOT).known, dollars + 1.5);
        prop_assert!(tree.nodes().all(|(id, _)| tree.is_complete(id)));
    }
}
