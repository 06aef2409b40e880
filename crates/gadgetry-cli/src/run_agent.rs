//! Runs an agent to its end, or until an interrupt or a timeout stops it.

use std::future::pending;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{io, mem, thread};

use gadgetry::driver::Observer;
use gadgetry::proto::run::Summary;
use gadgetry::{AgentRun, RunError};
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tokio::task::JoinError;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::Error;
use crate::interrupts::Interrupts;

/// How long a stuck thread may delay the end of the program, such as one that writes to a pipe that is not read.
const PATIENCE: Duration = Duration::from_millis(250);

/// The run, the watch over stdout, and two for blocking work of libraries: name resolution, files.
const THREADS: usize = 4;

/// How long a run that has exceeded its time may take to end its gadgets.
const GRACE: Duration = Duration::from_secs(10);

/// A run that has ended.
pub(crate) struct Finished<W> {
    pub(crate) summary: Summary,
    pub(crate) observer: W,
}

/// A run that has ended or was left.
pub(crate) struct Ended<W> {
    /// `None` if it was left before its end.
    pub(crate) summary: Option<Summary>,
    /// Why it was stopped, if something else than its model and gadgets failed.
    pub(crate) fault: Option<String>,
    pub(crate) observer: W,
    /// Whether the timeout cancelled it.
    pub(crate) timed_out: bool,
}

/// Runs an agent, and returns the observer with the result.
///
/// The first interrupt, or the timeout `limit`, cancels the run; the second interrupt drops it. Either way the processes of
/// its gadgets end.
pub(crate) fn run_agent<W: Observer + 'static>(
    run: AgentRun<'static>,
    limit: Option<Duration>,
    observer: W,
) -> Result<Finished<W>, Error> {
    let ended = run_unless_left(run, limit, pending(), observer)?;
    // It is never left.
    let summary = ended.summary.ok_or_else(|| stopped_at_once(false))?;
    Ok(Finished {
        summary,
        observer: ended.observer,
    })
}

/// The same, but the run is dropped, without being cancelled, when `left` ends.
pub(crate) fn run_unless_left<W: Observer + 'static>(
    run: AgentRun<'static>,
    limit: Option<Duration>,
    left: impl Future<Output = ()> + Send + 'static,
    mut observer: W,
) -> Result<Ended<W>, Error> {
    let handle = run.handle();
    let work = move || async move {
        let ended = tokio::select! {
            ended = run.observe(&mut observer) => Some(ended),
            () = left => None,
        };
        let finished = ended.map(|it| it.unwrap_or_else(RunError::into_finished));
        let (summary, fault) = finished.map(|it| (it.summary, it.fault)).unzip();
        (summary, fault.flatten(), observer)
    };
    let (mut cancelled, mut timed_out) = (false, false);
    let is_enough = |stop| {
        handle.cancel();
        timed_out |= stop == Stop::Timeout && !cancelled;
        mem::replace(&mut cancelled, true)
    };
    let done = until_stopped(work, limit, is_enough)?;
    let (summary, fault, observer) = done.ok_or_else(|| stopped_at_once(timed_out))?;
    Ok(Ended {
        summary,
        fault,
        observer,
        timed_out,
    })
}

/// Why work is stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Interrupt,
    Timeout,
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
    until_stopped(work, None, |_| is_enough())
}

/// The same, with a time limit. Like an interrupt, it asks `is_enough`, and once more after a while.
fn until_stopped<T, F>(
    work: impl FnOnce() -> F + Send + 'static,
    limit: Option<Duration>,
    mut is_enough: impl FnMut(Stop) -> bool,
) -> Result<Option<T>, Error>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    enough_threads().map_err(|error| Error::machine(&error))?;
    // Its tasks run here, between the interrupts; the work has a thread of its own.
    let runtime = Builder::new_current_thread()
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
        let mut deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let why = tokio::select! {
                done = &mut working => break done.map_err(|error| bug(&error)),
                () = interrupts.next() => Stop::Interrupt,
                () = sleep_till(deadline) => {
                    deadline = Some(Instant::now() + GRACE);
                    Stop::Timeout
                }
            };
            if is_enough(why) {
                stop.notify_one();
                // It may be stuck for good.
                let _ = timeout(PATIENCE, working).await;
                break Ok(None);
            }
        }
    });
    runtime.shutdown_timeout(PATIENCE);
    done
}

/// Fails if the system does not allow the threads that are needed. tokio would panic where it misses one.
fn enough_threads() -> io::Result<()> {
    let (mut gates, mut threads) = (Vec::new(), Vec::new());
    let started = (0..THREADS).try_for_each(|_| {
        let (gate, closed) = channel::<()>();
        let wait = move || closed.recv().is_ok();
        threads.push(thread::Builder::new().spawn(wait)?);
        gates.push(gate);
        Ok(())
    });
    drop(gates);
    for thread in threads {
        // It has done nothing that could panic.
        let _ = thread.join();
    }
    started
}

async fn sleep_till(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}

fn stopped_at_once(timed_out: bool) -> Error {
    let why = if timed_out {
        "the run exceeded its --timeout; "
    } else {
        ""
    };
    Error::Failed(format!("{why}stopped without waiting for the gadgets"))
}

fn bug(error: &JoinError) -> Error {
    Error::Failed(format!("internal error (please report): {error}"))
}
