//! The hooks of one run as its watchers.

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

    /// Returns the trace of what the run sends, to the model or in a call.
    pub(crate) fn trace_context(
        &self,
        run: &RunContext,
        call: Option<CallId>,
    ) -> Option<TraceContext> {
        let of_hook = |hook: &Arc<dyn DynHook>| {
            // It is a fact about the run, which does not depend on it.
            catch_unwind(AssertUnwindSafe(|| hook.trace_context(run, call))).ok()?
        };
        let of_caller = || run.get::<TraceContext>().ok().cloned();
        self.0.iter().find_map(of_hook).or_else(of_caller)
    }

    /// Shows each hook what happens.
    pub(crate) fn show(&mut self, run: &RunContext, seen: Seen<'_>) {
        self.0.retain(|hook| {
            let watched = catch_unwind(AssertUnwindSafe(|| hook.watch(run, seen)));
            if let Err(panic) = &watched {
                let text = panic_text("a hook", panic.as_ref());
                let id = &*run.info().id;
                tracing::error!(
                    run = id,
                    "{text}: it no longer watches the run, which continues"
                );
            }
            watched.is_ok()
        });
    }
}
