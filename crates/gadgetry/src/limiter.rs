//! Requests and tokens in a time: what a provider allows, shared by all runs that use it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry_proto::usage::Usage;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::services::Limiter;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What a provider allows. What is `None` is not limited.
///
/// ```
/// use gadgetry::{RateLimiter, RateLimits};
/// let limits = RateLimits { requests_per_minute: Some(50), ..RateLimits::default() };
/// let limiter = RateLimiter::new(limits)?;
/// # Ok::<(), gadgetry::RateLimitsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimits {
    /// Requests in any 60 seconds.
    pub requests_per_minute: Option<u32>,
    /// Tokens, in and out, in any 60 seconds.
    pub tokens_per_minute: Option<u64>,
    /// Tokens, in and out, in each 24 hours, counted from the first request. A provider's day may begin elsewhere.
    pub tokens_per_day: Option<u64>,
    /// The part of the limits that is used, above 0 and up to 1. The rest is for what a provider counts otherwise.
    pub safety_margin: f64,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            requests_per_minute: None,
            tokens_per_minute: None,
            tokens_per_day: None,
            safety_margin: 0.9,
        }
    }
}

impl RateLimits {
    /// Refuses limits that would let nothing through, and a margin that is none.
    pub fn check(&self) -> Result<(), RateLimitsError> {
        let Self {
            requests_per_minute,
            tokens_per_minute,
            tokens_per_day,
            safety_margin,
        } = *self;
        if !(safety_margin > 0.0 && safety_margin <= 1.0) {
            return Err(RateLimitsError::SafetyMargin(safety_margin));
        }
        let limits = [
            ("requests_per_minute", requests_per_minute.map(u64::from)),
            ("tokens_per_minute", tokens_per_minute),
            ("tokens_per_day", tokens_per_day),
        ];
        match limits.into_iter().find(|(_, limit)| *limit == Some(0)) {
            Some((name, _)) => Err(RateLimitsError::Zero(name)),
            None => Ok(()),
        }
    }

    /// The part of `limit` that is used, at least 1.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "limits are far below 2^52, and a float to integer cast saturates"
    )]
    fn part(&self, limit: u64) -> u64 {
        ((limit as f64 * self.safety_margin) as u64).max(1)
    }
}

/// Limits that make no sense: a mistake of whoever configured them.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RateLimitsError {
    /// A limit is 0.
    #[error("{0} is 0, which would let nothing through; leave it out for no limit")]
    Zero(&'static str),
    /// The margin is not a part of 1.
    #[error("the safety margin must be above 0 and at most 1, and not {0}")]
    SafetyMargin(f64),
}

/// Makes requests wait until the provider allows them. Clones share what was used.
///
/// A request counts from the moment it is let through. Its tokens are not known then, so an estimate is held for it
/// until [`Permit::record`] says what they were; those count from that moment. Requests are let through in the order
/// in which they asked. One that is larger than a token limit is let through alone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), gadgetry::RateLimitsError> {
/// use gadgetry::{RateLimiter, RateLimits};
/// let limits = RateLimits { requests_per_minute: Some(1), ..RateLimits::default() };
/// let limiter = RateLimiter::new(limits)?;
/// limiter.acquire(1_000).await.record(1_200);
/// let second = limiter.acquire(1_000).await;
/// assert_eq!(second.waited().as_secs(), 60);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RateLimiter {
    shared: Arc<Shared>,
}

struct Shared {
    limits: RateLimits,
    /// Whoever holds it is the next to be let through; it is handed on in order.
    turn: tokio::sync::Mutex<()>,
    used: Mutex<Used>,
    /// The estimates of requests that were admitted through [`Limiter`], the oldest first.
    admitted: Mutex<VecDeque<u64>>,
    /// A reservation became smaller, or known.
    settled: Notify,
}

impl RateLimiter {
    /// A limiter whose first day begins at its first request. Refuses what [`RateLimits::check`] refuses.
    pub fn new(limits: RateLimits) -> Result<Self, RateLimitsError> {
        limits.check()?;
        let shared = Shared {
            limits,
            turn: tokio::sync::Mutex::default(),
            used: Mutex::default(),
            admitted: Mutex::default(),
            settled: Notify::new(),
        };
        let shared = Arc::new(shared);
        Ok(Self { shared })
    }

    /// What it was made with.
    pub fn limits(&self) -> &RateLimits {
        &self.shared.limits
    }

    /// Waits until a request of about `tokens` tokens, in and out, may be sent.
    ///
    /// It sleeps until the exact moment at which enough of what was used no longer counts, or until a request before
    /// it turns out to have used less than was held for it.
    ///
    /// Cancel safety: dropping the future gives up the place in the queue and has no other effect.
    pub async fn acquire(&self, tokens: u64) -> Permit {
        let asked = Instant::now();
        let _turn = self.shared.turn.lock().await;
        loop {
            let wake = match self.shared.used().admit(&self.shared.limits, tokens) {
                Ok(()) => break,
                Err(wake) => wake,
            };
            let settled = self.shared.settled.notified();
            match wake {
                Some(at) => {
                    tokio::select! {
                        () = sleep_until(at) => {}
                        () = settled => {}
                    }
                }
                None => settled.await,
            }
        }
        Permit {
            shared: Arc::clone(&self.shared),
            held: Some(tokens),
            waited: asked.elapsed(),
        }
    }
}

/// Which reply is which does not matter: what is held for all that are under way is the same.
impl Limiter for RateLimiter {
    fn admit(&self, tokens: u64) -> BoxFuture<'_, Duration> {
        Box::pin(async move {
            let mut permit = self.acquire(tokens).await;
            permit.held = None;
            self.shared.admitted().push_back(tokens);
            permit.waited
        })
    }

    fn record(&self, usage: Usage) {
        let held = self.shared.admitted().pop_front().unwrap_or(0);
        let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
        let tokens = tokens.max(usage.total_tokens);
        // Of a reply that was cut off, nothing is known.
        self.shared
            .settle(held, if tokens == 0 { held } else { tokens });
    }
}

impl Shared {
    fn settle(&self, held: u64, tokens: u64) {
        self.used().settle(&self.limits, held, tokens);
        self.settled.notify_one();
    }

    fn admitted(&self) -> MutexGuard<'_, VecDeque<u64>> {
        self.admitted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter")
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}

/// A request that may be sent.
///
/// Dropped without [`Permit::record`], because the reply was cut off, its estimate counts as used.
#[must_use = "the request counts already"]
pub struct Permit {
    shared: Arc<Shared>,
    /// The estimate, until it is settled.
    held: Option<u64>,
    waited: Duration,
}

impl Permit {
    /// How long the request was held back.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// The reply used so many tokens, in and out.
    pub fn record(mut self, tokens: u64) {
        self.settle(Some(tokens));
    }

    fn settle(&mut self, tokens: Option<u64>) {
        if let Some(held) = self.held.take() {
            self.shared.settle(held, tokens.unwrap_or(held));
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.settle(None);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit")
            .field("held", &self.held)
            .field("waited", &self.waited)
            .finish_non_exhaustive()
    }
}

/// What counts at present.
#[derive(Debug, Default)]
struct Used {
    /// When requests of the last minute were let through.
    requests: VecDeque<Instant>,
    /// When tokens of the last minute became known, and how many.
    tokens: VecDeque<(Instant, u64)>,
    /// The sum of `tokens`.
    minute: u64,
    /// Estimates of requests under way.
    held: u64,
    /// When the current day began.
    day_began: Option<Instant>,
    /// Tokens that became known in it.
    day: u64,
}

impl Used {
    /// Lets a request through, or says when to look again; `None` if only a settlement can help.
    fn admit(&mut self, limits: &RateLimits, tokens: u64) -> Result<(), Option<Instant>> {
        let now = Instant::now();
        self.forget(now);
        let day_began = *self.day_began.get_or_insert(now);
        if let Some(limit) = limits.requests_per_minute {
            let limit = usize::try_from(limits.part(limit.into())).unwrap_or(usize::MAX);
            if self.requests.len() >= limit {
                let leaves = self.requests[self.requests.len() - limit];
                return Err(Some(leaves + MINUTE));
            }
        }
        if let Some(limit) = limits.tokens_per_minute {
            let room = limits.part(limit);
            if !fits(self.held, self.minute, tokens, room) {
                return Err(self.minute_wake(tokens, room));
            }
        }
        if let Some(limit) = limits.tokens_per_day {
            let room = limits.part(limit);
            if !fits(self.held, self.day, tokens, room) {
                let tomorrow = fits(self.held, 0, tokens, room);
                return Err(tomorrow.then_some(day_began + DAY));
            }
        }
        if limits.requests_per_minute.is_some() {
            self.requests.push_back(now);
        }
        self.held = self.held.saturating_add(tokens);
        Ok(())
    }

    /// When enough tokens have left the minute; `None` if what is held is in the way.
    fn minute_wake(&self, tokens: u64, room: u64) -> Option<Instant> {
        let mut left = self.minute;
        let mut entries = self.tokens.iter();
        loop {
            let (at, gone) = entries.next()?;
            left -= gone;
            if fits(self.held, left, tokens, room) {
                return Some(*at + MINUTE);
            }
        }
    }

    fn settle(&mut self, limits: &RateLimits, held: u64, tokens: u64) {
        let now = Instant::now();
        self.held = self.held.saturating_sub(held);
        self.forget(now);
        if limits.tokens_per_minute.is_some() && tokens > 0 {
            // Sums are kept below overflow, whatever a provider claims.
            let tokens = tokens.min(u64::MAX - self.minute);
            self.tokens.push_back((now, tokens));
            self.minute += tokens;
        }
        self.day = self.day.saturating_add(tokens);
    }

    /// Drops what no longer counts at `now`.
    fn forget(&mut self, now: Instant) {
        while self.requests.front().is_some_and(|at| *at + MINUTE <= now) {
            self.requests.pop_front();
        }
        while let Some((at, tokens)) = self.tokens.front().copied()
            && at + MINUTE <= now
        {
            self.tokens.pop_front();
            self.minute -= tokens;
        }
        if let Some(began) = &mut self.day_began
            && *began + DAY <= now
        {
            let days = now.duration_since(*began).as_secs() / DAY.as_secs();
            *began += Duration::from_secs(days * DAY.as_secs());
            self.day = 0;
        }
    }
}

/// Whether `tokens` more have room beside what is held and used; what is too large for any room fits alone.
fn fits(held: u64, used: u64, tokens: u64, room: u64) -> bool {
    let before = held.saturating_add(used);
    before == 0 || before.saturating_add(tokens) <= room
}
