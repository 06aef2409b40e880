//! The gadgets in flight, to cancel them without their run, and to record what they change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use gadgetry::proto::call::Outcome;
use gadgetry::proto::schema::GadgetSpec;
use gadgetry::{CallPreview, CancellationToken, DynGadget, ExecutionContext, Permission};
use serde_json::Value;

use super::checkpoints::Checkpoints;

/// The gadgets in flight. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    tokens: Arc<Mutex<Tokens>>,
    pub(super) checkpoints: Checkpoints,
}

#[derive(Debug, Default)]
struct Tokens {
    next: u64,
    tokens: BTreeMap<u64, CancellationToken>,
}

impl Flight {
    /// Records there what the gadgets change.
    pub(super) fn recording(checkpoints: Checkpoints) -> Self {
        Self {
            tokens: Arc::default(),
            checkpoints,
        }
    }

    /// The same gadget, which is in flight here while it runs.
    pub(super) fn watch(&self, gadget: Arc<dyn DynGadget>) -> Arc<dyn DynGadget> {
        Arc::new(Watched {
            gadget,
            flight: self.clone(),
        })
    }

    /// Cancels all of them. Each call fails, and the run continues.
    pub(super) fn cancel(&self) {
        for token in self.lock().tokens.values() {
            token.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tokens> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, token: CancellationToken) -> Entry {
        let mut tokens = self.lock();
        let number = tokens.next;
        tokens.next += 1;
        tokens.tokens.insert(number, token);
        Entry(self.clone(), number)
    }
}

/// A gadget in flight, until it is dropped.
struct Entry(Flight, u64);

impl Drop for Entry {
    fn drop(&mut self) {
        self.0.lock().tokens.remove(&self.1);
    }
}

struct Watched {
    gadget: Arc<dyn DynGadget>,
    flight: Flight,
}

impl DynGadget for Watched {
    fn spec(&self) -> &GadgetSpec {
        self.gadget.spec()
    }

    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome> {
        let entry = self.flight.begin(context.cancellation().clone());
        let work = self.gadget.execute(parameters, context);
        let checkpoints = Checkpoints::are_for(&self.spec().name);
        let checkpoints = checkpoints.then(|| self.flight.checkpoints.clone());
        Box::pin(async move {
            let _entry = entry;
            match checkpoints {
                Some(checkpoints) => checkpoints.record(work).await,
                None => work.await,
            }
        })
    }

    fn permission(&self) -> Permission {
        self.gadget.permission()
    }

    fn preview<'a>(&'a self, parameters: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        self.gadget.preview(parameters)
    }

    fn check(&self, parameters: Value) -> Result<Value, gadgetry::gadget::InvalidParams> {
        self.gadget.check(parameters)
    }
}
