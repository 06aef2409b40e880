//! The tokio runtime, and the way from its threads into the interpreter.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

/// Threads of tokio that are inside the interpreter, or wait for it.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// True once the interpreter ends. Up to Python 3.12, a thread that enters it from then on is ended by it in the middle of our code.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Longest wait for the threads that are inside when the interpreter ends.
const LEAVING: Duration = Duration::from_secs(2);

/// The runtime of this process.
static RUNTIME: Mutex<Option<Forked>> = Mutex::new(None);

struct Forked {
    process: u32,
    runtime: &'static Runtime,
}

/// Returns the runtime. It is called with the interpreter only, so that no other thread holds the lock when the process forks: a
/// forked process has none of the threads of its parent, and gets a runtime of its own.
pub(crate) fn runtime(_: Python<'_>) -> PyResult<&'static Runtime> {
    let mut kept = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(kept) = kept.as_ref().filter(|kept| kept.process == process) {
        return Ok(kept.runtime);
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("gadgetry")
        .enable_all()
        .build()?;
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    *kept = Some(Forked { process, runtime });
    Ok(runtime)
}

/// Enters the interpreter from a thread of tokio; `None` once it ends.
pub(crate) fn attach<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    struct Left;
    impl Drop for Left {
        fn drop(&mut self) {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let _left = Left;
    if CLOSED.load(Ordering::SeqCst) {
        return None;
    }
    Some(Python::attach(work))
}

/// Lets no thread in any more, and waits until all have left. Called by `atexit`.
#[pyfunction]
pub(crate) fn close(py: Python<'_>) {
    CLOSED.store(true, Ordering::SeqCst);
    py.detach(|| {
        let end = Instant::now() + LEAVING;
        while INSIDE.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            #[expect(
                clippy::disallowed_methods,
                reason = "a thread of Python waits here, at the end of its process"
            )]
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}
