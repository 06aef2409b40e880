//! The inspector as a hook of agents.

use std::sync::Arc;

use gadgetry::Event;
use gadgetry::control::{Hook, RunContext};
use gadgetry::proto::event::EventKind;
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
