//! The gadgets in flight, to cancel them without their run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gadgetry::{CancellationToken, DynGadget};

use crate::wrapped::wrapped;

/// The gadgets in flight. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight(Arc<Mutex<Tokens>>);

#[derive(Debug, Default)]
struct Tokens {
    next: u64,
    tokens: BTreeMap<u64, CancellationToken>,
}

impl Flight {
    /// The same gadget, which is in flight here while it runs.
    pub(super) fn watch(&self, gadget: Arc<dyn DynGadget>) -> Arc<dyn DynGadget> {
        let flight = self.clone();
        wrapped(gadget, move |work, token| {
            let entry = flight.begin(token);
            Box::pin(async move {
                let _entry = entry;
                work.await
            })
        })
    }

    /// Cancels all of them. Each call fails, and the run continues.
    pub(super) fn cancel(&self) {
        for token in self.lock().tokens.values() {
            token.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Tokens> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
