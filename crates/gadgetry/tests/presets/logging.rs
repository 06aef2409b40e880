//! What goes to `tracing`.

use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use gadgetry::presets::Logging;
use gadgetry::proto::event::Event;
use serde_json::json;

use crate::support::own_process::runs_alone;

use super::support::{eventful, events, watch};

/// Keeps what is logged, a line each: level, message, fields.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target() == "gadgetry"
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        struct Fields(String, String);
        impl tracing::field::Visit for Fields {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn fmt::Debug) {
                if field.name() == "message" {
                    write!(self.0, "{value:?}").unwrap();
                } else {
                    write!(self.1, " {}={value:?}", field.name()).unwrap();
                }
            }
        }
        let mut fields = Fields(String::new(), String::new());
        event.record(&mut fields);
        let Fields(message, fields) = fields;
        let line = format!("{} {message}:{fields}", event.metadata().level());
        self.0.lock().unwrap().push(line);
    }
}

/// A test that compares lines runs alone: `tracing` caches for the whole process whether anyone listens.
pub(crate) fn logged(work: impl FnOnce()) -> Vec<String> {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), work);
    lines.0.lock().unwrap().clone()
}

pub(crate) fn logged_by_logging(events: &[Event]) -> Vec<String> {
    logged(|| watch(&mut Logging, events))
}

#[test]
fn every_event_is_logged_at_its_level() {
    if !runs_alone(every_event_is_logged_at_its_level, &[]) {
        return;
    }
    assert_eq!(
        logged_by_logging(&eventful()),
        [
            "DEBUG calling model: depth=0 iteration=1 purpose=Reply",
            "DEBUG gadget call: depth=0 gadget=\"Ask\" id=\"a\" parameters={\"q\":\"x\"}",
            "DEBUG gadget started: depth=0 gadget=\"Ask\" id=\"a\"",
            "DEBUG calling model: depth=1 path=\"a.0\" iteration=1 purpose=Reply",
            "TRACE text: depth=0 text=\"Wait.\"",
            "TRACE text: depth=1 path=\"a.0\" text=\"Well\"",
            "INFO model call finished: depth=0 iteration=1 purpose=Reply stop_reason=Stop input=100 output=10 cost=0.25",
            "INFO model call finished: depth=1 path=\"a.0\" iteration=1 purpose=Reply stop_reason=Stop input=7 output=3 cost=0.125",
            "INFO run finished: depth=1 path=\"a.0\" reason=Completed iterations=1 total_cost=0.125",
            "INFO gadget finished: depth=0 gadget=\"Ask\" id=\"a\" duration_ms=70 cost=1.0 chars=3",
            "DEBUG gadget result: depth=0 id=\"a\" result=\"yes\"",
            "WARN gadget failed: depth=0 gadget=\"Dig\" id=\"b\" duration_ms=5 cost=0.5 error=\"no\\u{7}\"",
            "WARN gadget call skipped: depth=0 gadget=\"Dig\" id=\"c\" failed_dependency=\"b\" error=\"b failed\"",
            "DEBUG iteration finished: depth=0 iteration=1",
            "DEBUG calling model: depth=0 iteration=2 purpose=Summary",
            "INFO model call finished: depth=0 iteration=2 purpose=Summary stop_reason=Stop input=900 output=90 cost=0.5",
            "INFO conversation compacted: depth=0 strategy=Summary removed_turns=3 before=1000 after=300",
            "DEBUG calling model: depth=0 iteration=2 purpose=Reply",
            "ERROR model call failed: depth=0 iteration=2 purpose=Reply kind=Other input=0 output=0 cost=0.0 error=\"busy\\nnow\"",
            "WARN retrying model call: depth=0 iteration=2 attempt=1 left=2 delay_ms=10 kind=Overloaded error=\"busy\"",
            "WARN request delayed by rate limit: depth=0 delay_ms=5",
            "DEBUG calling model: depth=0 iteration=2 purpose=Reply",
            "INFO model call finished: depth=0 iteration=2 purpose=Reply stop_reason=Stop input=50 output=5 cost=0.25",
            "INFO cost reported after timeout: depth=0 gadget=\"Dig\" id=\"b\" cost=1.0",
            "WARN run ended early: depth=0 reason=BudgetExceeded iterations=2 total_cost=3.625",
        ]
    );
    let rest = events(&[
        json!({ "type": "reasoning", "text": "hm" }),
        json!({ "type": "gadget_call_start", "gadgetName": "Ask", "invocationId": "a", "call": 0, "dependencies": [] }),
        json!({ "type": "gadget_args_partial", "gadgetName": "Ask", "invocationId": "a", "call": 0, "fieldPath": "q", "delta": "x", "isFieldComplete": true }),
        json!({
            "type": "gadget_call", "gadgetName": "Ask", "invocationId": "a", "call": 0, "dependencies": [],
            "parametersRaw": "", "parseError": "gap", "terminatedBy": "endMarker", "span": { "start": 0, "end": 9 },
        }),
        json!({ "type": "gadget_progress", "gadgetName": "Ask", "invocationId": "a", "call": 0, "message": "half" }),
        json!({ "type": "human_input_required", "invocationId": "a", "question": "Sure?" }),
        json!({ "type": "human_input_received", "answered": true }),
        json!({ "type": "custom_block_start", "blockId": "block_1", "tag": "plan", "attrs": {} }),
        json!({ "type": "custom_block_delta", "blockId": "block_1", "tag": "plan", "delta": "go" }),
        json!({ "type": "custom_block_end", "blockId": "block_1", "tag": "plan", "reason": "closed" }),
        json!({ "type": "custom_block", "blockId": "block_1", "tag": "plan", "content": "go", "attrs": {} }),
        json!({ "type": "diagnostic", "code": "nearMiss", "message": "almost", "span": { "start": 0, "end": 9 } }),
        json!({ "type": "gadget_restarted", "gadgetName": "Ask", "invocationId": "a", "call": 0 }),
        json!({ "type": "gadget_cost", "gadgetName": "Ask", "invocationId": "a", "call": 0, "cost": 0.5 }),
        json!({ "type": "run_finished", "reason": "stopped", "iterations": 1, "totalCost": 0.0 }),
        json!({ "type": "run_finished", "reason": "modelError", "iterations": 1, "totalCost": 0.0, "error": "down" }),
    ]);
    assert_eq!(
        logged_by_logging(&rest),
        [
            "TRACE reasoning: depth=0 text=\"hm\"",
            "TRACE gadget call started: depth=0 gadget=\"Ask\" id=\"a\"",
            "TRACE argument delta: depth=0 id=\"a\" field=\"q\" delta=\"x\"",
            "WARN malformed gadget call: depth=0 gadget=\"Ask\" id=\"a\" error=\"gap\"",
            "DEBUG gadget progress: depth=0 id=\"a\" progress=\"half\"",
            "INFO human input requested: depth=0 id=\"a\" question=\"Sure?\"",
            "INFO human input received: depth=0 answered=true",
            "TRACE custom block started: depth=0 block_id=block_1 tag=\"plan\"",
            "TRACE custom block delta: depth=0 block_id=block_1 delta=\"go\"",
            "TRACE custom block ended: depth=0 block_id=block_1 reason=Closed",
            "DEBUG custom block: depth=0 block_id=block_1 tag=\"plan\" content=\"go\"",
            "WARN diagnostic: depth=0 code=NearMiss note=\"almost\"",
            "INFO gadget restarted after an interruption: depth=0 gadget=\"Ask\" id=\"a\"",
            "INFO cost reported after timeout: depth=0 gadget=\"Ask\" id=\"a\" cost=0.5",
            "INFO run finished: depth=0 reason=Stopped iterations=1 total_cost=0.0",
            "ERROR run failed: depth=0 reason=ModelError iterations=1 total_cost=0.0 kind=Other error=\"down\"",
        ]
    );
}
