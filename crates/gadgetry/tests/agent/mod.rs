//! Agents, from the outside: every option, every end, and what runs share.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod consuming;
mod conversations;
mod decisions;
mod ends;
mod failures;
mod grace;
mod guards;
mod hooks;
mod identity;
mod limiter;
mod mistakes;
mod options;
mod owned;
mod saved;
mod subagents;
mod support;
mod typed;
mod watching;
