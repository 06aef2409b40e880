//! Rate limits and delays of requests.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;
use gadgetry::RateLimits;
use gadgetry::proto::run::Retry;

/// Limits on the requests of a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct RateArgs {
    /// Send at most N requests in any 60 seconds; further ones wait
    #[arg(long, value_name = "N", value_parser = super::numbers::at_least_one)]
    pub(crate) requests_per_minute: Option<NonZeroUsize>,

    /// Use at most N tokens, input and output, in any 60 seconds
    #[arg(long, value_name = "N", value_parser = super::numbers::at_least_one)]
    pub(crate) tokens_per_minute: Option<NonZeroUsize>,

    /// Use at most N tokens in 24 hours, counted from the first request of the run
    #[arg(long, value_name = "N", value_parser = super::numbers::at_least_one)]
    pub(crate) tokens_per_day: Option<NonZeroUsize>,

    /// Fraction of the rate limits to use, above 0 and up to 1 [default: 0.9]
    #[arg(long, value_name = "NUMBER", value_parser = margin)]
    pub(crate) rate_limit_margin: Option<f64>,
}

impl RateArgs {
    /// The limits, if there are any.
    pub(crate) fn limits(&self) -> Option<RateLimits> {
        let usual = RateLimits::default();
        let tokens = |limit: NonZeroUsize| limit.get() as u64;
        let requests = |limit: NonZeroUsize| u32::try_from(limit.get()).unwrap_or(u32::MAX);
        let limits = RateLimits {
            requests_per_minute: self.requests_per_minute.map(requests),
            tokens_per_minute: self.tokens_per_minute.map(tokens),
            tokens_per_day: self.tokens_per_day.map(tokens),
            safety_margin: self.rate_limit_margin.unwrap_or(usual.safety_margin),
        };
        let is_limited = limits.requests_per_minute.is_some()
            || limits.tokens_per_minute.is_some()
            || limits.tokens_per_day.is_some();
        is_limited.then_some(limits)
    }
}

/// Options for retries of failed requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct RetryArgs {
    /// Retry a request at most N times after a transient failure [default: 3, or 0 for a script]
    #[arg(long, value_name = "N")]
    pub(crate) max_retries: Option<u32>,

    /// Delay before the first retry; doubles with each further one [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = super::server::duration)]
    pub(crate) retry_min_delay: Option<Duration>,

    /// Maximum delay before a retry, unless the provider requests a longer one [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = super::server::duration)]
    pub(crate) retry_max_delay: Option<Duration>,
}

impl RetryArgs {
    /// The policy, for this number of retries without `--max-retries`.
    pub(crate) fn policy(&self, usual_retries: u32) -> Retry {
        let usual = Retry::default();
        let milliseconds = |it: Duration| u64::try_from(it.as_millis()).unwrap_or(u64::MAX);
        let (min, max) = (self.retry_min_delay, self.retry_max_delay);
        let (min, max) = (min.map(milliseconds), max.map(milliseconds));
        // A limit that is given moves the other one, if that is not given.
        let max_ms = max.unwrap_or(usual.max_ms.max(min.unwrap_or_default()));
        let min_ms = min.unwrap_or(usual.min_ms).min(max_ms);
        Retry {
            retries: self.max_retries.unwrap_or(usual_retries),
            min_ms,
            max_ms,
            ..usual
        }
    }
}

pub(crate) fn margin(text: &str) -> Result<f64, &'static str> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| *number > 0.0 && *number <= 1.0)
        .ok_or("expected a number above 0 and up to 1")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Both {
        #[command(flatten)]
        rates: RateArgs,
        #[command(flatten)]
        retry: RetryArgs,
    }

    fn parsed(words: &str) -> Both {
        Both::parse_from([""].into_iter().chain(words.split_whitespace()))
    }

    #[test]
    fn rates() {
        let check = |words: &str, expected: Option<RateLimits>| {
            assert_eq!(parsed(words).rates.limits(), expected, "{words}");
        };
        let usual = RateLimits::default();
        check("", None);
        check("--rate-limit-margin 0.5", None);
        check(
            "--requests-per-minute 50",
            Some(RateLimits {
                requests_per_minute: Some(50),
                ..usual
            }),
        );
        check(
            "--tokens-per-minute 40000 --tokens-per-day 99999999999 --rate-limit-margin 1",
            Some(RateLimits {
                requests_per_minute: None,
                tokens_per_minute: Some(40_000),
                tokens_per_day: Some(99_999_999_999),
                safety_margin: 1.0,
            }),
        );
    }

    #[test]
    fn retries() {
        let check = |words: &str, expected: (u32, u64, u64)| {
            let retry = parsed(words).retry.policy(3);
            assert_eq!(
                (retry.retries, retry.min_ms, retry.max_ms),
                expected,
                "{words}"
            );
        };
        check("", (3, 1_000, 30_000));
        check("--max-retries 0", (0, 1_000, 30_000));
        check("--retry-min-delay 5ms --max-retries 9", (9, 5, 30_000));
        check("--retry-max-delay 1m", (3, 1_000, 60_000));
        check("--retry-max-delay 1ms", (3, 1, 1));
        check(
            "--retry-min-delay 2s --retry-max-delay 1s",
            (3, 1_000, 1_000),
        );
        check("--retry-min-delay 1m", (3, 60_000, 60_000));
    }
}
