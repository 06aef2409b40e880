//! Time as reported by the driver.

use std::ops::Add;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since the run began. The driver says what time it is; the engine never asks.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Time(pub u64);

impl Time {
    /// Returns the milliseconds since the run began.
    ///
    /// ```
    /// use std::time::Duration;
    /// use gadgetry_proto::time::Time;
    /// assert_eq!(Time(1_500).as_millis(), 1_500);
    /// assert_eq!(Duration::from(Time(1_500)).as_secs_f64(), 1.5);
    /// ```
    pub fn as_millis(self) -> u64 {
        self.0
    }

    /// Milliseconds from `earlier` to `self`; 0 if `earlier` is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl From<Time> for Duration {
    fn from(time: Time) -> Self {
        Self::from_millis(time.0)
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    /// Rounds up to the millisecond, so that a deadline is never early.
    fn add(self, duration: Duration) -> Self {
        let milliseconds = duration.as_nanos().div_ceil(1_000_000);
        Self(
            self.0
                .saturating_add(u64::try_from(milliseconds).unwrap_or(u64::MAX)),
        )
    }
}
