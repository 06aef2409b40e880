//! Limits of a provider.

use gadgetry_proto::error::{Classified, Fault};

/// Limits of a provider. `None` means unlimited.
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
    /// The fraction of the limits that is used, above 0 and up to 1. The rest is a reserve for differences in the provider's
    /// count.
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
    /// Rejects limits of 0 and an invalid margin.
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

    /// Returns the part of `limit` that is used, at least 1.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "limits are far below 2^52, and a float to integer cast saturates"
    )]
    pub(super) fn part(&self, limit: u64) -> u64 {
        ((limit as f64 * self.safety_margin) as u64).max(1)
    }
}

/// Invalid limits: a mistake in the configuration.
///
/// ```
/// use gadgetry::{RateLimits, RateLimitsError};
/// let limits = RateLimits { tokens_per_day: Some(0), ..RateLimits::default() };
/// assert_eq!(limits.check(), Err(RateLimitsError::Zero("tokens_per_day")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RateLimitsError {
    /// A limit is 0.
    #[error("{0} is 0, which would block every request; omit it for no limit")]
    Zero(&'static str),
    /// The margin is not above 0 and at most 1.
    #[error("the safety margin must be above 0 and at most 1, got {0}")]
    SafetyMargin(f64),
}

impl Classified for RateLimitsError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}
