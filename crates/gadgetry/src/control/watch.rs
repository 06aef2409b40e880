//! The watching hooks of a run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use gadgetry_proto::id::CallId;
use gadgetry_proto::trace::TraceContext;

use crate::control::{DynHook, Hooks, Seen};
use crate::panics::panic_text;
use crate::run_context::RunContext;

/// The hooks that watch a run. One that panics is dropped.
pub(crate) struct Watchers(Vec<Arc<dyn DynHook>>);

impl Watchers {
    pub(crate) fn of(hooks: &Hooks) -> Self {
        Self(hooks.watching().map(Arc::clone).collect())
    }

    /// Returns the trace of the run's requests, to the model or in a call: that of the first hook with one, or else the caller's.
    pub(crate) fn trace_context(
        &mut self,
        run: &RunContext,
        call: Option<CallId>,
    ) -> Option<TraceContext> {
        let mut found = None;
        self.each(run, |hook| {
            if found.is_none() {
                found = hook.trace_context(run, call);
            }
        });
        found.or_else(|| run.get::<TraceContext>().ok().cloned())
    }

    /// Passes an event, input or request to each hook.
    pub(crate) fn show(&mut self, run: &RunContext, seen: Seen<'_>) {
        self.each(run, |hook| hook.watch(run, seen));
    }

    fn each(&mut self, run: &RunContext, mut visit: impl FnMut(&dyn DynHook)) {
        self.0.retain(|hook| {
            let visited = catch_unwind(AssertUnwindSafe(|| visit(&**hook)));
            if let Err(panic) = &visited {
                let text = panic_text("a hook", panic.as_ref());
                let id = &*run.info().id;
                tracing::error!(
                    run = id,
                    "{text}: it no longer watches the run, which continues"
                );
            }
            visited.is_ok()
        });
    }
}
