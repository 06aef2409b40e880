//! Gadgets of servers, wherever they are executed.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use gadgetry::gadget::InvalidParams;
use gadgetry::{CallPreview, DynGadget, ExecutionContext, GadgetSpec, Outcome, Permission};
use serde_json::Value;
use tokio::runtime::Handle;

/// A gadget whose tasks and timers are those of the connection's runtime: a server that a call starts again outlives the run.
pub(super) struct OnRuntime {
    pub(super) gadget: Arc<dyn DynGadget>,
    pub(super) runtime: Handle,
}

impl DynGadget for OnRuntime {
    fn spec(&self) -> &GadgetSpec {
        self.gadget.spec()
    }

    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        Box::pin(Entered {
            work: Some(self.gadget.execute(parameters, context)),
            runtime: self.runtime.clone(),
        })
    }

    fn permission(&self) -> Permission {
        self.gadget.permission()
    }

    fn preview<'a>(&'a self, parameters: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        self.gadget.preview(parameters)
    }

    fn check(&self, parameters: Value) -> Result<Value, InvalidParams> {
        self.gadget.check(parameters)
    }
}

/// Work that is polled and dropped in the context of a runtime.
struct Entered {
    /// Absent once it is dropped.
    work: Option<BoxFuture<'static, Outcome>>,
    runtime: Handle,
}

impl Future for Entered {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let this = &mut *self;
        let _entered = this.runtime.enter();
        match &mut this.work {
            Some(work) => work.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let _entered = self.runtime.enter();
        self.work = None;
    }
}
