//! Agents on the web, asked by a real HTTP client.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod approvals;
mod local;
mod module_order;
mod openai;
mod streams;
mod support;
mod ui;
