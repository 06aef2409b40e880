//! Durable runs, killed at every commit and resumed.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use gadgetry::journal::{
    Durability, Journal, JournalError, MemoryJournal, Opened, Progress, Recorder, RunId,
};
use gadgetry::log::Header;
use gadgetry::proto::run::Input;
use gadgetry::proto::time::Time;
use gadgetry::{Agent, ExecutionContext, GadgetError, from_fn};
use gadgetry_testing::MockModel;
use tokio::sync::Notify;

/// A journal whose process dies at one of its commits: before or after it is done.
#[derive(Clone)]
struct Dying {
    journal: MemoryJournal,
    left: Arc<AtomicUsize>,
    dead: Arc<Notify>,
}

struct DyingRecorder {
    inner: Box<dyn Recorder>,
    dying: Dying,
}

impl Journal for Dying {
    fn open<'a>(
        &'a self,
        id: &'a RunId,
        header: Option<&'a Header>,
    ) -> BoxFuture<'a, Result<Opened, JournalError>> {
        Box::pin(async move {
            let mut opened = self.journal.open(id, header).await?;
            let inner = opened.recorder;
            let dying = self.clone();
            opened.recorder = Box::new(DyingRecorder { inner, dying });
            Ok(opened)
        })
    }

    fn forget<'a>(&'a self, id: &'a RunId) -> BoxFuture<'a, Result<(), JournalError>> {
        self.journal.forget(id)
    }
}

impl Recorder for DyingRecorder {
    fn record(&mut self, time: Time, input: &Input) {
        self.inner.record(time, input);
    }

    fn took(&mut self, message: u64) {
        self.inner.took(message);
    }

    fn progress(&mut self, progress: Progress) {
        self.inner.progress(progress);
    }

    fn commit(&mut self, durability: Durability) -> BoxFuture<'static, Result<(), JournalError>> {
        // An even number: before the commit; an odd one: after it.
        let left = self.dying.left.load(Ordering::SeqCst);
        if left == 0 {
            self.dying.dead.notify_one();
            return Box::pin(pending());
        }
        let committed = self.inner.commit(durability);
        if left == 1 {
            self.dying.left.store(0, Ordering::SeqCst);
            self.dying.dead.notify_one();
            return Box::pin(pending());
        }
        self.dying.left.store(left - 2, Ordering::SeqCst);
        committed
    }
}
