//! Gadgets with something around each of their calls.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use gadgetry::gadget::InvalidParams;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::{CallPreview, CancellationToken, DynGadget, ExecutionContext, Need, Permission};
use serde_json::Value;

/// The work of a call.
pub(crate) type Work = BoxFuture<'static, Outcome>;

/// Returns the same gadget, whose calls do what `around` makes of their work and the token that cancels it.
pub(crate) fn wrapped(
    gadget: Arc<dyn DynGadget>,
    around: impl Fn(Work, CancellationToken) -> Work + Send + Sync + 'static,
) -> Arc<dyn DynGadget> {
    Arc::new(Wrapped { gadget, around })
}

struct Wrapped<F> {
    gadget: Arc<dyn DynGadget>,
    around: F,
}

impl<F> DynGadget for Wrapped<F>
where
    F: Fn(Work, CancellationToken) -> Work + Send + Sync + 'static,
{
    fn spec(&self) -> &GadgetSpec {
        self.gadget.spec()
    }

    fn execute(&self, parameters: Value, context: ExecutionContext) -> Work {
        let token = context.cancellation().clone();
        (self.around)(self.gadget.execute(parameters, context), token)
    }

    fn permission(&self) -> Permission {
        self.gadget.permission()
    }

    fn needs(&self) -> &[Need] {
        self.gadget.needs()
    }

    fn preview<'a>(&'a self, parameters: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        self.gadget.preview(parameters)
    }

    fn check(&self, parameters: Value) -> Result<Value, InvalidParams> {
        self.gadget.check(parameters)
    }
}
