//! Presets that give numbers and lines.

use gadgetry::Observer;
use gadgetry::presets::{
    ErrorLogging, Failure, Monitoring, Progress, ProgressTracking, Timing, TokenTracking,
};
use gadgetry::proto::tree::CostTree;
use gadgetry::proto::usage::Usage;
use serde_json::json;

use crate::support::own_process::runs_alone;

use super::logging::{logged, logged_by_logging};
use super::support::{FAILURES, end, eventful, events, watch};

#[test]
fn progress_is_reported_after_everything_that_costs() {
    let mut lines = Vec::new();
    let on_progress = |p: &Progress| {
        assert_eq!(p.max_iterations, Some(4));
        lines.push(format!(
            "{} ms, reply {}, depth {}: {} calls, {} gadgets, {}/{} tokens, {} = {} + {}{}",
            p.elapsed_ms,
            p.iteration,
            p.depth,
            p.model_calls,
            p.gadget_calls,
            p.input_tokens,
            p.output_tokens,
            p.total_cost.unwrap(),
            p.model_cost.unwrap(),
            p.gadget_cost,
            if p.finished { ", finished" } else { "" },
        ));
    };
    let mut progress = ProgressTracking::new(on_progress).max_iterations(4);
    watch(&mut progress, &eventful());
    drop(progress);
    assert_eq!(
        lines,
        [
            "60 ms, reply 1, depth 0: 1 calls, 0 gadgets, 100/10 tokens, 0.25 = 0.25 + 0",
            "70 ms, reply 1, depth 1: 2 calls, 0 gadgets, 107/13 tokens, 0.375 = 0.375 + 0",
            "80 ms, reply 1, depth 1: 2 calls, 0 gadgets, 107/13 tokens, 0.375 = 0.375 + 0",
            "90 ms, reply 1, depth 0: 2 calls, 1 gadgets, 107/13 tokens, 1.375 = 0.375 + 1",
            "100 ms, reply 1, depth 0: 2 calls, 2 gadgets, 107/13 tokens, 1.875 = 0.375 + 1.5",
            "140 ms, reply 2, depth 0: 3 calls, 3 gadgets, 1007/103 tokens, 2.375 = 0.875 + 1.5",
            "170 ms, reply 2, depth 0: 4 calls, 3 gadgets, 1007/103 tokens, 2.375 = 0.875 + 1.5",
            "210 ms, reply 2, depth 0: 5 calls, 3 gadgets, 1057/108 tokens, 2.625 = 1.125 + 1.5",
            // A gadget came to its end too late.
            "220 ms, reply 2, depth 0: 5 calls, 3 gadgets, 1057/108 tokens, 3.625 = 1.125 + 2.5",
            "230 ms, reply 2, depth 0: 5 calls, 3 gadgets, 1057/108 tokens, 3.625 = 1.125 + 2.5, finished",
        ]
    );
}

#[test]
fn timing_and_tokens_are_reported() {
    let (mut timing, mut tokens) = (Timing::default(), TokenTracking::default());
    watch(&mut timing, &eventful()[..9]);
    assert_eq!(timing.report().run_ms, None);
    timing = Timing::default();
    watch(&mut timing, &eventful());
    let expected = [
        "run: 230 ms\n",
        "model calls: 5, 130 ms, mean 26 ms, longest 60 ms\n",
        "Ask: 1, 70 ms, mean 70 ms, longest 70 ms\n",
        "Dig: 2, 5 ms, mean 2 ms, longest 5 ms\n",
    ];
    assert_eq!(timing.report().to_string(), expected.concat());

    watch(&mut tokens, &eventful());
    let report = tokens.report();
    let both = |usage: Usage| [usage.input_tokens, usage.output_tokens];
    assert_eq!((report.model_calls, report.cost), (5, Some(1.125)));
    assert_eq!(both(report.all), [1057, 108]);
    assert_eq!(both(report.summaries), [900, 90]);
    assert_eq!(both(report.subagents), [7, 3]);
    assert_eq!((report.compactions, report.compacted_tokens), (1, 700));
}

#[test]
fn errors_are_formatted_as_lines() {
    let mut lines = Vec::new();
    let mut errors = ErrorLogging::new(|failure: &Failure| lines.push(failure.to_string()));
    watch(&mut errors, &eventful());
    let mut within = end("sub model_call_end", 3, 0.0, [0, 0]);
    within["error"] = json!("down");
    let cancelled =
        json!({ "type": "run_finished", "reason": "cancelled", "iterations": 1, "totalCost": 0.0 });
    let failed = json!({ "type": "run_finished", "reason": "modelError", "iterations": 1, "totalCost": 0.0, "error": "down" });
    watch(&mut errors, &events(&[within, cancelled, failed]));
    let (first, rest) = lines.split_at(FAILURES.len());
    assert_eq!(first, FAILURES);
    assert_eq!(
        rest,
        [
            "0 ms: in a.0: reply 3 failed: down",
            "20 ms: the run ended early: ModelError: down"
        ]
    );
}

#[test]
fn monitoring_is_all_of_them() {
    if !runs_alone(monitoring_is_all_of_them, &[]) {
        return;
    }
    let (mut monitoring, mut timing, mut tokens) = (
        Monitoring::default(),
        Timing::default(),
        TokenTracking::default(),
    );
    let mut tree = CostTree::default();
    let events = eventful();
    for event in &events {
        monitoring.event(event);
        timing.event(event);
        tokens.event(event);
        tree.apply(event);
    }
    assert_eq!(monitoring.timing(), timing.report());
    assert_eq!(monitoring.tokens(), tokens.report());
    assert_eq!(*monitoring.costs(), tree);
    let lines: Vec<String> = monitoring
        .failures()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(lines, FAILURES);
    let logged = logged(|| watch(&mut Monitoring::default(), &events));
    assert_eq!(logged, logged_by_logging(&events));

    // It does not grow without bound.
    for _ in 0..400 {
        watch(&mut monitoring, &events);
    }
    assert_eq!(
        (monitoring.failures().len(), monitoring.failed()),
        (1000, 401 * 5)
    );
}
