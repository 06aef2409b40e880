//! Runs an agent to its end, or until an interrupt or a timeout stops it.

use std::future::pending;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;
use std::{io, mem, thread};

use gadgetry::driver::Observer;
use gadgetry::proto::run::Summary;
use gadgetry::{AgentRun, RunError};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::error::Error;
use crate::interrupts::Interrupts;

/// Maximum delay of the end of a command by blocking work that it has given up.
const PATIENCE: Duration = Duration::from_millis(250);

/// Interval at which a worker is woken for I/O and time.
const BEAT: Duration = Duration::from_millis(100);

/// Maximum time for a run that has exceeded its time to end its gadgets.
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
    /// Reason for stopping, if something else than its model and gadgets failed.
    pub(crate) fault: Option<String>,
    pub(crate) observer: W,
    /// Whether the timeout cancelled it.
    pub(crate) timed_out: bool,
}

/// Runs an agent, and returns the observer with the result.
///
/// The first interrupt, or the timeout `limit`, cancels the run; the second interrupt drops it. Either way the processes of
/// its gadgets end.
pub(crate) async fn run_agent<W: Observer + 'static>(
    run: AgentRun<'static>,
    limit: Option<Duration>,
    observer: W,
) -> Result<Finished<W>, Error> {
    let ended = run_unless_left(run, limit, pending(), observer).await?;
    // It is never left.
    let summary = ended.summary.ok_or_else(|| stopped_at_once(false))?;
    Ok(Finished {
        summary,
        observer: ended.observer,
    })
}

/// The same, but the run is dropped, without being cancelled, when `left` ends.
pub(crate) async fn run_unless_left<W: Observer + 'static>(
    run: AgentRun<'static>,
    limit: Option<Duration>,
    left: impl Future<Output = ()> + Send + 'static,
    mut observer: W,
) -> Result<Ended<W>, Error> {
    let handle = run.handle();
    let work = async move {
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
    let done = until_stopped(work, limit, is_enough).await?;
    let (summary, fault, observer) = done.ok_or_else(|| stopped_at_once(timed_out))?;
    Ok(Ended {
        summary,
        fault,
        observer,
        timed_out,
    })
}

/// Reason why work is stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Interrupt,
    Timeout,
}

/// Waits for `work`. At an interrupt, `is_enough` says whether the work is dropped; then there is nothing to give.
pub(crate) async fn until_interrupted<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
    mut is_enough: impl FnMut() -> bool,
) -> Result<Option<T>, Error> {
    until_stopped(work, None, |_| is_enough()).await
}

/// Like [`until_interrupted`], with a time limit, which also calls `is_enough`, and again after the grace period.
async fn until_stopped<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
    limit: Option<Duration>,
    mut is_enough: impl FnMut(Stop) -> bool,
) -> Result<Option<T>, Error> {
    // Before any gadget starts: they are in process groups of their own, which a signal reaches only through us.
    let mut interrupts = Interrupts::listen().map_err(|error| Error::machine(&error))?;
    let _pulse = Pulse::start().map_err(|error| Error::machine(&error))?;
    // A task, so that interrupts count while it blocks its thread. Dropping the set drops the work.
    let mut working = JoinSet::new();
    working.spawn(work);
    let mut deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    loop {
        let why = tokio::select! {
            Some(done) = working.join_next() => {
                return done.map(Some).map_err(|error| Error::bug(&error));
            }
            () = interrupts.next() => Stop::Interrupt,
            () = sleep_till(deadline) => {
                deadline = Some(Instant::now() + GRACE);
                Stop::Timeout
            }
        };
        if is_enough(why) {
            // A task that blocks its thread, such as one that writes to a pipe that is not read, may never end.
            let _ = timeout(PATIENCE, working.shutdown()).await;
            return Ok(None);
        }
    }
}

/// Keeps signals and timers going while tasks block their threads, until it is dropped.
///
/// A worker that has waited for I/O and time continues with what it was woken for. If that blocks, no worker waits for I/O and time
/// until another one is woken; tokio wakes one only with its unstable `enable_eager_driver_handoff`.
struct Pulse {
    _end: Sender<()>,
}

impl Pulse {
    fn start() -> io::Result<Self> {
        let (end, ended) = channel();
        let runtime = Handle::current();
        let beat = move || {
            while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                drop(runtime.spawn(async {}));
            }
        };
        thread::Builder::new()
            .name("pulse".to_owned())
            .spawn(beat)?;
        Ok(Self { _end: end })
    }
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

#[cfg(all(test, unix))]
mod tests {
    use std::sync::mpsc::channel;

    use futures_util::future::join;
    use rustix::process::{Signal, getpid, kill_process};
    use tokio::net::UnixStream;
    use tokio::sync::oneshot;

    use super::*;

    /// The worker that has waited for I/O blocks, so that no other one waits for it.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn signals_and_timers_count_while_a_task_blocks_its_thread() {
        for limit in [None, Some(Duration::from_millis(1))] {
            let (near, far) = UnixStream::pair().expect("a pair");
            let (blocks, is_blocked) = oneshot::channel();
            let (release, released) = channel::<()>();
            let work = async move {
                near.readable().await.expect("it is open");
                let _ = blocks.send(());
                let _ = released.recv();
            };
            let is_signal = limit.is_none();
            let is_enough = |stop| is_signal == (stop == Stop::Interrupt);
            let stopped = until_stopped(work, limit, is_enough);
            let stop = async {
                far.try_write(b"x").expect("there is room");
                // The time limit may be up before the work blocks.
                if is_blocked.await.is_ok() && is_signal {
                    kill_process(getpid(), Signal::INT).expect("a signal");
                }
            };
            let (stopped, ()) = join(stopped, stop).await;
            assert!(matches!(stopped, Ok(None)), "{stopped:?}");
            drop(release);
        }
    }
}
