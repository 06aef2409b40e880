//! What a gadget logs. In a process of its own: a subscriber of one thread is not safe from the other threads of a test
//! program, because `tracing` caches for all of them whether anyone listens.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gadgetry::proto::call::Outcome;
use serde_json::json;
use tokio::time::sleep;

use crate::support::own_process::runs_alone;
use crate::support::stage::{call, gadget, play, services};

/// Keeps what is logged with the fields of the span around it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<LogState>>);

#[derive(Default)]
struct LogState {
    spans: Vec<String>,
    entered: Vec<u64>,
    lines: Vec<String>,
}

struct Fields<'a>(&'a mut String);

impl tracing::field::Visit for Fields<'_> {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        let mut state = self.0.lock().unwrap();
        let mut fields = format!("{} ", span.metadata().name());
        span.record(&mut Fields(&mut fields));
        state.spans.push(fields);
        tracing::span::Id::from_u64(state.spans.len() as u64)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut state = self.0.lock().unwrap();
        let span = state.entered.last().copied().unwrap_or(0);
        let span = usize::try_from(span).unwrap().checked_sub(1);
        let mut line = span.map_or(String::new(), |index| state.spans[index].clone());
        event.record(&mut Fields(&mut line));
        state.lines.push(line.trim().to_owned());
    }

    fn enter(&self, span: &tracing::span::Id) {
        self.0.lock().unwrap().entered.push(span.into_u64());
    }

    fn exit(&self, _: &tracing::span::Id) {
        self.0.lock().unwrap().entered.pop();
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_gadget_logs_is_attributed_to_its_call() {
    if !runs_alone(what_a_gadget_logs_is_attributed_to_its_call, &[]) {
        return;
    }
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let steps = gadget("Steps", |_| async {
        tracing::info!("one");
        sleep(Duration::from_millis(5)).await;
        tracing::info!("two");
        Outcome::ok("x")
    });
    let replies = [json!(call("Steps:a") + &call("Steps:b")), json!("done")];
    let mut services = services(&replies, &[steps]);
    services.scope.run_id = Some("r".into());
    play(&services).await;
    let line = |call: &str, text: &str| {
        format!("gadget run=\"r\" call=\"{call}\" gadget=\"Steps\" message={text}")
    };
    let mut lines = std::mem::take(&mut log.0.lock().unwrap().lines);
    lines.retain(|line| line.contains("message=one") || line.contains("message=two"));
    let expected = [
        line("a", "one"),
        line("b", "one"),
        line("a", "two"),
        line("b", "two"),
    ];
    assert_eq!(lines, expected);
    let mut spans = std::mem::take(&mut log.0.lock().unwrap().spans);
    for span in &mut spans {
        span.truncate(span.trim_end().len());
    }
    // Those of docs/guide/traces.md.
    let documented = [
        "run run=\"r\" model=\"script\"",
        "model_call run=\"r\" model=\"script\" iteration=1",
        "gadget run=\"r\" call=\"a\" gadget=\"Steps\"",
        "gadget run=\"r\" call=\"b\" gadget=\"Steps\"",
        "model_call run=\"r\" model=\"script\" iteration=2",
    ];
    assert_eq!(spans, documented);
}
