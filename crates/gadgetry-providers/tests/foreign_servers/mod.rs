//! Both backends, alone and below an agent, against model servers that others wrote: `aimock` and `llmock`.
//!
//! `cargo xtask test servers` installs them. A server that is not there is not tested, and a line on standard error says so.

#![cfg(feature = "http")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks at a few of many kinds"
)]

mod agents;
mod aimock;
mod guide;
mod llmock;
mod server;
