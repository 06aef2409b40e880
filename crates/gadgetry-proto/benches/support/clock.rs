//! Time, compared: everything that a ratio is made of is measured in turn, so that a busy machine slows all of it.

use std::time::{Duration, Instant};

/// How long one contestant runs before it is the next one's turn.
const TURN: Duration = Duration::from_millis(10);
/// Every contestant has at least so many turns.
const TURNS: u32 = 5;

/// What is timed.
pub type Contestant<'a> = &'a mut dyn FnMut();

/// The best time of each contestant, in seconds. One that is quick runs several times a turn, so that it finds its own
/// data in the caches again.
pub fn race<const N: usize>(mut contestants: [Contestant<'_>; N], at_least: Duration) -> [f64; N] {
    let mut best = [f64::MAX; N];
    let begin = now();
    for turn in 0.. {
        for (run, best) in contestants.iter_mut().zip(&mut best) {
            let start = now();
            while start.elapsed() < TURN {
                *best = best.min(seconds(&mut *run));
            }
        }
        if turn + 1 >= TURNS && begin.elapsed() > at_least {
            break;
        }
    }
    best
}

/// The least of what `run` has measured, of many times: for what has to be prepared each time.
pub fn best(at_least: Duration, mut run: impl FnMut() -> f64) -> f64 {
    let mut best = f64::MAX;
    let begin = now();
    for turn in 0.. {
        best = best.min(run());
        if turn + 1 >= TURNS && begin.elapsed() > at_least {
            break;
        }
    }
    best
}

/// How long this takes, once.
pub fn seconds(run: impl FnOnce()) -> f64 {
    let start = now();
    run();
    start.elapsed().as_secs_f64()
}

#[allow(
    clippy::disallowed_methods,
    reason = "banned where the engine's own rules count; a bench has nothing else"
)]
fn now() -> Instant {
    Instant::now()
}
