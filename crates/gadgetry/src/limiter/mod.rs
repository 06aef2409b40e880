//! Rate limits: requests and tokens per minute and day, shared by all runs that use them.

mod limits;
mod used;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_core::future::BoxFuture;
use gadgetry_proto::usage::Usage;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

pub use limits::{RateLimits, RateLimitsError};

use used::Used;

/// Delays requests to stay within a provider's limits. Runs and gadgets can share one.
///
/// ```
/// use std::time::Duration;
/// use futures_core::future::BoxFuture;
/// use gadgetry::{Limiter, Usage};
///
/// /// Admits everything at once.
/// struct Unlimited;
///
/// impl Limiter for Unlimited {
///     fn admit(&self, _tokens: u64) -> BoxFuture<'_, Duration> {
///         Box::pin(async { Duration::ZERO })
///     }
///
///     fn record(&self, _tokens: u64, _usage: Usage) {}
/// }
/// ```
pub trait Limiter: Send + Sync {
    /// Waits until a request of about `tokens` tokens may be sent. Returns how long it waited; zero if it did not.
    ///
    /// Cancel safety: a request whose future is dropped was not admitted.
    fn admit(&self, tokens: u64) -> BoxFuture<'_, Duration>;

    /// Records the usage of a request that was admitted with an estimate of `tokens`, when its reply has ended or was dropped. A
    /// usage of 0 means unknown.
    fn record(&self, tokens: u64, usage: Usage);
}

/// Delays requests until the provider's limits allow them. Clones share the usage.
///
/// A request counts from the moment it is admitted. Its tokens are not known then, so an estimate is reserved for it until
/// [`Permit::record`] reports them, for a minute at most; those count from that moment. Requests are admitted in the order of
/// their calls. One that is larger than a token limit is admitted alone. It uses tokio's clock.
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
    /// Held by the request that is admitted next. Tokio's mutex is fair, so requests are admitted in order.
    turn: tokio::sync::Mutex<()>,
    used: Mutex<Used>,
    /// Notified when a reservation was replaced by the actual usage.
    released: Notify,
}

impl RateLimiter {
    /// Creates a limiter whose first day begins at its first request.
    ///
    /// # Errors
    ///
    /// The errors of [`RateLimits::check`].
    pub fn new(limits: RateLimits) -> Result<Self, RateLimitsError> {
        limits.check()?;
        let shared = Shared {
            limits,
            turn: tokio::sync::Mutex::default(),
            used: Mutex::default(),
            released: Notify::new(),
        };
        let shared = Arc::new(shared);
        Ok(Self { shared })
    }

    /// Returns the limits it was created with.
    pub fn limits(&self) -> &RateLimits {
        &self.shared.limits
    }

    /// Waits until a request of about `tokens` tokens, in and out, may be sent.
    ///
    /// It sleeps until the moment at which enough of the past usage expires, or until an earlier request turns out to
    /// have used less than was reserved for it.
    ///
    /// Cancel safety: dropping the future leaves the queue and has no other effect.
    pub async fn acquire(&self, tokens: u64) -> Permit {
        let asked = Instant::now();
        let mut delayed = false;
        let turn = if let Ok(turn) = self.shared.turn.try_lock() {
            turn
        } else {
            delayed = true;
            self.shared.turn.lock().await
        };
        while let Err(wake) = self.shared.admit_now(tokens) {
            delayed = true;
            let released = self.shared.released.notified();
            match wake {
                // Either past usage expires, or a reservation shrinks.
                Some(at) => drop(timeout_at(at, released).await),
                None => released.await,
            }
        }
        drop(turn);
        Permit {
            shared: Arc::clone(&self.shared),
            held: Some(tokens),
            waited: if delayed {
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
            // `Limiter::record` settles the reservation, so the permit must not.
            permit.held = None;
            permit.waited
        })
    }

    fn record(&self, tokens: u64, usage: Usage) {
        let sum = usage.input_tokens.saturating_add(usage.output_tokens);
        let used = sum.max(usage.total_tokens);
        // The usage of a reply that was cut off is unknown: the estimate counts.
        let used = if used == 0 { tokens } else { used };
        self.shared.release(tokens, used);
    }
}

impl Shared {
    /// Admits a request, or returns the time to try again; `None` if only the end of another request can help.
    fn admit_now(&self, tokens: u64) -> Result<(), Option<Instant>> {
        self.used().admit(&self.limits, tokens)
    }

    fn release(&self, held: u64, tokens: u64) {
        self.used().release(&self.limits, held, tokens);
        self.released.notify_one();
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

/// Permission to send a request.
///
/// If it is dropped without [`Permit::record`], because the reply was cut off, the estimate counts as used.
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
    /// The reserved estimate, until it is released.
    held: Option<u64>,
    waited: Duration,
}

impl Permit {
    /// Returns the time that the request was delayed; zero if it was not.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Records the tokens that the reply used, in and out.
    pub fn record(mut self, tokens: u64) {
        self.release(Some(tokens));
    }

    fn release(&mut self, tokens: Option<u64>) {
        if let Some(held) = self.held.take() {
            self.shared.release(held, tokens.unwrap_or(held));
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.release(None);
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
