//! Observer presets, over lists of events and over a real run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]
#![expect(
    clippy::float_cmp,
    reason = "the amounts here are sums of eighths, which are exact"
)]

mod files;
mod logging;
mod merged;
mod reports;
mod support;
mod whole_run;
