//! Hooks of the configuration: commands that decide about calls before their gadgets start, see the results, decide about prompts,
//! compactions and ends of runs, and learn of sessions.
//!
//! A command reads one JSON object and answers by its exit code, or by JSON on stdout. The names of events and fields, and exit code 2,
//! are those of Claude Code's hooks, as of November 2026 (code.claude.com/docs/en/hooks). What differs fails closed: a command before a
//! call or about a prompt that cannot be started, is ended by its timeout, ends with any other code, or whose answer is not understood,
//! denies it; and none can approve a call.

mod answer;
mod calls;
mod commands;
mod compaction;
mod moments;
mod stop;

pub(crate) use calls::ConfiguredHooks;
pub(crate) use commands::Commands;
pub(crate) use compaction::CompactionHooks;
#[cfg(feature = "chat")]
pub(crate) use moments::Submitted;
pub(crate) use moments::{Ending, Moments, Start, noted};
pub(crate) use stop::StopHooks;
