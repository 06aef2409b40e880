//! An agent, asked by clients that write raw messages.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod exchanges;
mod hostile;
mod module_order;
mod support;
mod terminals;
