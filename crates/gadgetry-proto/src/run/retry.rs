//! Delays before a request is sent again.

use serde::{Deserialize, Serialize};

/// The retries of a model call that failed while nothing had acted on its reply: no block had begun, and no
/// native call was complete. Text and reasoning that were shown are withdrawn, see
/// [`EventKind::ReplyWithdrawn`](crate::event::EventKind::ReplyWithdrawn).
///
/// The delay grows from `min_ms` by `factor` to `max_ms`, then varies by up to a half of itself either way, but never
/// above `max_ms`. What the provider asks for counts instead, up to `max_retry_after_ms`; if it asks for more, the run
/// does not wait. To that comes up to a quarter of the delay, and a quarter is the least, so that clients that were
/// refused together do not come back together, or at once. The variation comes from `seed`, the iteration and the attempt: it is the same in a replay.
///
/// ```
/// use gadgetry_proto::run::Retry;
/// let retry = Retry { jitter: false, ..Retry::default() };
/// assert_eq!(retry.delay_ms(1, 1, Some(7_000)), Some(7_000));
/// assert_eq!(retry.delay_ms(1, 2, Some(0)), Some(500));
/// assert_eq!(retry.delay_ms(1, 4, None), None);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Retry {
    /// Maximum number of times that one request is sent again.
    pub retries: u32,
    /// The first delay, in milliseconds.
    pub min_ms: u64,
    /// The longest delay, in milliseconds.
    pub max_ms: u64,
    /// Factor by which each delay is longer than the one before.
    pub factor: f64,
    /// Whether delays vary, so that many clients do not come back at once.
    pub jitter: bool,
    /// The seed of the variation.
    pub seed: u64,
    /// The longest wait that a provider may ask for, in milliseconds.
    pub max_retry_after_ms: u64,
    /// Whether a reply with nothing in it is a failure.
    pub on_empty: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            retries: 3,
            min_ms: 1_000,
            max_ms: 30_000,
            factor: 2.0,
            jitter: true,
            seed: 0,
            max_retry_after_ms: 120_000,
            on_empty: true,
        }
    }
}

impl Retry {
    /// Returns the delay before retry `attempt` (from 1); `None` if there is no such retry.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "delays are far below 2^52, and a float to integer cast saturates"
    )]
    pub fn delay_ms(
        &self,
        iteration: u32,
        attempt: u32,
        retry_after_ms: Option<u64>,
    ) -> Option<u64> {
        if attempt > self.retries {
            return None;
        }
        let longest = self.max_ms as f64;
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let delay = (self.min_ms as f64 * self.factor.max(1.0).powi(exponent)).min(longest);
        if let Some(asked) = retry_after_ms {
            let quarter = delay / 4.0;
            let more = if self.jitter {
                quarter * self.fraction(iteration, attempt)
            } else {
                0.0
            };
            let least = asked.max(quarter as u64);
            return (asked <= self.max_retry_after_ms).then(|| least.saturating_add(more as u64));
        }
        let delay = if self.jitter {
            delay * (0.5 + self.fraction(iteration, attempt))
        } else {
            delay
        };
        Some(delay.min(longest) as u64)
    }

    /// Returns a number from 0 to 1, by the finaliser of splitmix64.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn fraction(&self, iteration: u32, attempt: u32) -> f64 {
        let place = (u64::from(iteration) << 32) | u64::from(attempt);
        let mut z = (self.seed ^ place).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first number of splitmix64 for the seed 0, as its reference implementation gives it.
    #[test]
    fn the_fraction_is_that_of_splitmix64() {
        let retry = Retry {
            seed: (1 << 32) | 1,
            ..Retry::default()
        };
        // 0xe220_a839_7b1d_cdaf, of which 53 bits count.
        let fraction = 0.883_310_808_213_642_6_f64;
        assert_eq!(retry.fraction(1, 1).to_bits(), fraction.to_bits());
    }

    /// The figures are those of another implementation of splitmix64: a replay must wait as long as the run did.
    #[test]
    fn the_variation_is_the_same_everywhere() {
        for (seed, iteration, attempt, delay, after_100) in [
            (0, 1, 1, 626, 281),
            (0, 1, 2, 2_401, 850),
            (0, 2, 1, 1_267, 441),
            (7, 1, 1, 584, 271),
            (0xfedc_ba98_7654_3210, 3, 2, 1_204, 551),
            (1 << 32, 1, 1, 1_066, 391),
        ] {
            let retry = Retry {
                seed,
                ..Retry::default()
            };
            let found = [None, Some(100)].map(|after| retry.delay_ms(iteration, attempt, after));
            assert_eq!(
                found,
                [Some(delay), Some(after_100)],
                "{seed} {iteration} {attempt}"
            );
        }
    }
}
