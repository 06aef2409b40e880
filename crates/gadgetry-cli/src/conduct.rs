//! A run of an agent, from its first request to its end, or until it is stopped from outside.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::driver::Observer;
use gadgetry::proto::run::Summary;
use gadgetry::{AgentRun, RunError};
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tokio::task::JoinError;
use tokio::time::timeout;

use crate::error::Error;
use crate::interrupts::Interrupts;

/// How long threads that are stuck may hold up the end of the program: one may write to a pipe that nobody reads.
const PATIENCE: Duration = Duration::from_millis(250);

/// Runs it, and gives the observer back. The first interrupt cancels the run, the second one drops it: either way no
/// process of a gadget stays.
pub(crate) fn conduct<W: Observer + 'static>(
    run: AgentRun,
    mut watch: W,
) -> Result<(Summary, W), Error> {
    let handle = run.handle();
    let work = move || async move {
        let ended = run.observe(&mut watch).await;
        let finished = ended.unwrap_or_else(RunError::into_finished);
        (finished.summary, watch)
    };
    let mut cancelled = false;
    let is_enough = || {
        handle.cancel();
        mem::replace(&mut cancelled, true)
    };
    until_interrupted(work, is_enough)?.ok_or_else(stopped_at_once)
}

/// Waits for `work`. At an interrupt, `is_enough` says whether the work is dropped; then there is nothing to give.
pub(crate) fn until_interrupted<T, F>(
    work: impl FnOnce() -> F + Send + 'static,
    mut is_enough: impl FnMut() -> bool,
) -> Result<Option<T>, Error>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Error::machine(&error))?;
    let done = runtime.block_on(async {
        // Before any gadget starts: they are in process groups of their own, which a signal reaches only through us.
        let mut interrupts = Interrupts::listen().map_err(|error| Error::machine(&error))?;
        let stop = Arc::new(Notify::new());
        let stopped = Arc::clone(&stop);
        // On a thread of its own, because writing to a slow reader blocks it; gadgets and interrupts are served meanwhile.
        let handle = Handle::current();
        let mut working = tokio::task::spawn_blocking(move || {
            handle.block_on(async {
                tokio::select! {
                    biased;
                    () = stopped.notified() => None,
                    done = work() => Some(done),
                }
            })
        });
        loop {
            tokio::select! {
                done = &mut working => break done.map_err(|error| bug(&error)),
                () = interrupts.next() => {
                    if is_enough() {
                        stop.notify_one();
                        // It may be stuck for good.
                        let _ = timeout(PATIENCE, working).await;
                        break Ok(None);
                    }
                }
            }
        }
    });
    runtime.shutdown_timeout(PATIENCE);
    done
}

fn stopped_at_once() -> Error {
    Error::Failed("stopped without waiting for the gadgets".to_owned())
}

fn bug(error: &JoinError) -> Error {
    Error::Failed(format!("a bug in gadgetry ended the run: {error}"))
}
