//! The gateway, from the outside.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test looks at a few of many kinds"
)]

mod bfcl;
mod bodies;
mod clients;
mod config;
mod exchange;
mod exchange_parts;
mod module_order;
mod real_models;
mod requests;
mod server;
mod support;
