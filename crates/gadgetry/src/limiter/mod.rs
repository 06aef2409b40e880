//! Requests and tokens in a time: what a provider allows, shared by all runs that use it.

mod limits;
mod used;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry_proto::usage::Usage;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::services::Limiter;

pub use limits::{RateLimits, RateLimitsError};

use used::Used;

/// Makes requests wait until the provider allows them. Clones share what was used.
///
/// A request counts from the moment it is let through. Its tokens are not known then, so an estimate is held for it
/// until [`Permit::record`] says what they were, for a minute at most; those count from that moment. Requests are let through in the order
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
        let mut held_back = false;
        let turn = if let Ok(turn) = self.shared.turn.try_lock() {
            turn
        } else {
            held_back = true;
            self.shared.turn.lock().await
        };
        while let Err(wake) = self.shared.let_through(tokens) {
            held_back = true;
            let settled = self.shared.settled.notified();
            match wake {
                // Whichever comes first.
                Some(at) => drop(timeout_at(at, settled).await),
                None => settled.await,
            }
        }
        drop(turn);
        Permit {
            shared: Arc::clone(&self.shared),
            held: Some(tokens),
            waited: if held_back {
                asked.elapsed()
            } else {
                Duration::ZERO
            },
        }
    }
}

impl Limiter for RateLimiter {
    fn admit(&self, tokens: u64) -> BoxFuture<'_, Duration> {
        Box::pin(async move {
            let mut permit = self.acquire(tokens).await;
            // `record` settles it.
            permit.held = None;
            permit.waited
        })
    }

    fn record(&self, tokens: u64, usage: Usage) {
        let sum = usage.input_tokens.saturating_add(usage.output_tokens);
        let used = sum.max(usage.total_tokens);
        // Of a reply that was cut off, nothing is known.
        let used = if used == 0 { tokens } else { used };
        self.shared.settle(tokens, used);
    }
}

impl Shared {
    /// Lets a request through, or says when to look again; `None` if only a settlement can help.
    fn let_through(&self, tokens: u64) -> Result<(), Option<Instant>> {
        self.used().admit(&self.limits, tokens)
    }

    fn settle(&self, held: u64, tokens: u64) {
        self.used().settle(&self.limits, held, tokens);
        self.settled.notify_one();
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
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), gadgetry::RateLimitsError> {
/// let limiter = gadgetry::RateLimiter::new(gadgetry::RateLimits::default())?;
/// let permit = limiter.acquire(500).await;
/// assert!(permit.waited().is_zero(), "nothing is limited");
/// // The request is sent, and its reply says what it used.
/// permit.record(430);
/// # Ok(())
/// # }
/// ```
#[must_use = "the request counts already"]
pub struct Permit {
    shared: Arc<Shared>,
    /// The estimate, until it is settled.
    held: Option<u64>,
    waited: Duration,
}

impl Permit {
    /// How long the request was held back; zero if it was not.
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
