//! Spans of simulated runs, and their way to a collector.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod collector;
mod module_order;
mod spans;
mod support;
