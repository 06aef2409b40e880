//! Virtual time: tests without waiting.
//!
//! Everything in gadgetry waits with tokio's clock. Where that clock is paused, time does not pass while a task can
//! run, and jumps to the next timer when all tasks wait. So an hour passes instantly, always in the same way. A paused
//! clock comes with `#[tokio::test(start_paused = true)]`, or with [`paused`].

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Returns what `work` gives, and the time that it took on tokio's clock: exactly, to the millisecond, if that is paused.
///
/// Cancel safety: that of `work`.
///
/// ```
/// use std::time::Duration;
/// use gadgetry_testing::{elapsed, paused};
/// let hour = Duration::from_secs(3600);
/// let ((), took) = paused(elapsed(async { tokio::time::sleep(hour).await }));
/// assert_eq!(took, hour);
/// ```
pub async fn elapsed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let began = Instant::now();
    let output = work.await;
    (output, began.elapsed())
}

/// Does `work` once `delay` has passed: for what happens from outside, such as a cancellation.
///
/// Cancel safety: dropped before the delay has passed, `work` never began.
///
/// ```
/// use std::time::Duration;
/// use gadgetry_testing::{after, elapsed, paused};
/// let ms = Duration::from_millis;
/// let late = async { tokio::join!(after(ms(5), async { 1 }), after(ms(3), async { 2 })) };
/// assert_eq!(paused(elapsed(late)), ((1, 2), ms(5)));
/// ```
pub async fn after<T>(delay: Duration, work: impl Future<Output = T>) -> T {
    sleep(delay).await;
    work.await
}

/// Runs `work` to its end on a tokio runtime of its own, of one thread, whose clock is paused at first.
///
/// # Panics
///
/// If it is called inside a runtime (there, `await` the future), or if the system gives no runtime.
///
/// ```
/// assert_eq!(gadgetry_testing::paused(async { 6 * 7 }), 42);
/// ```
#[track_caller]
pub fn paused<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => panic!("no runtime for the test: {error}"),
    }
}
