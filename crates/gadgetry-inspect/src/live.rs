//! The inspector as a hook of agents.

use std::sync::Arc;

use gadgetry::Event;
use gadgetry::control::{Hook, RunContext};
use gadgetry::proto::event::{EventKind, RunInfo};
use gadgetry::proto::message::Request;
use gadgetry::proto::run::Input;
use gadgetry::proto::time::Time;

use crate::inspector::{Inspector, LiveRun, Source};

impl Hook for Inspector {
    fn event(&self, run: &RunContext, event: &Event) {
        let info = run.info();
        let ends_reply =
            event.path.is_empty() && matches!(event.kind, EventKind::ModelCallEnd { .. });
        self.recorder(run, true, |live| {
            self.change(live, |recorder| {
                // Events of subagents are passed on by their parents.
                if live.id == info.id {
                    let begins = matches!(event.kind, EventKind::RunStart(_));
                    // A run that was resumed does not begin again.
                    if !begins && !recorder.has_begun() {
                        recorder.record(&start_of(info, event));
                    }
                    recorder.record(event);
                }
                if ends_reply {
                    recorder.end_reply(Some(&info.id));
                }
            });
        });
    }

    fn input(&self, run: &RunContext, _: Time, input: &Input) {
        if matches!(input, Input::Delta(_)) {
            self.recorder(run, false, |live| {
                // Readers wait for events; a reply is complete at the end of its call.
                live.recorder().reply(Some(&run.info().id), input);
            });
        }
    }

    fn request(&self, run: &RunContext, request: &Request) {
        self.recorder(run, true, |live| {
            self.change(live, |recorder| {
                recorder.request_of(Some(&run.info().id), request);
            });
        });
    }
}

/// The event that began a run, for one whose first event is `first`.
fn start_of(info: &Arc<RunInfo>, first: &Event) -> Event {
    let kind = EventKind::RunStart(Arc::clone(info));
    let mut start = Event::new(first.seq, first.time, kind);
    start.run = Some(Arc::clone(&info.id));
    start
}

impl Inspector {
    /// Calls `with` with the record of a run, or of the run whose subagent it is; a run that is not known is added if `adds`.
    fn recorder(&self, run: &RunContext, adds: bool, with: impl FnOnce(&LiveRun)) {
        let info = run.info();
        let source = self.live(info).or_else(|| {
            let new = || self.insert(Source::Live(Box::new(LiveRun::new(Arc::clone(&info.id)))));
            adds.then(new)
        });
        if let Some(Source::Live(live)) = source.as_deref() {
            with(live);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Another process saw the beginning of a resumed run, so its first event here is any.
    #[test]
    fn a_run_is_known_from_its_first_event_on() {
        let mut info = RunInfo::new("order-7", "haiku");
        info.start_ms = Some(5);
        let start = json!({ "v": 1, "seq": 0, "timeMs": 0, "run": "order-7", "type": "run_start", "id": "order-7", "model": "haiku", "startMs": 5 });
        let reply = json!({ "v": 1, "seq": 7, "timeMs": 9, "run": "order-7", "type": "model_call_start", "iteration": 2 });
        let check = |events: &[&Value], expected: &[&str]| {
            let inspector = Inspector::new();
            let run = RunContext::new(info.clone());
            for event in events {
                let event: Event = serde_json::from_value((*event).clone()).expect("an event");
                inspector.event(&run, &event);
            }
            let list = inspector.list();
            let Source::Live(live) = &*list[0].1 else {
                panic!("a live run");
            };
            let records: Vec<Value> = live.recording().values().collect();
            let kinds: Vec<_> = records.iter().map(|it| it["type"].clone()).collect();
            assert_eq!(kinds, expected);
            let facts = ["id", "model", "startMs"].map(|name| records[0][name].clone());
            assert_eq!(facts, [json!("order-7"), json!("haiku"), json!(5)]);
        };
        check(&[&start, &reply], &["run_start", "model_call_start"]);
        check(
            &[&reply, &reply],
            &["run_start", "model_call_start", "model_call_start"],
        );
    }
}
