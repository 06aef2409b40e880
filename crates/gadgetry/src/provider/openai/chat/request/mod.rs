//! Requests of Chat Completions.

pub(super) mod encode;
mod messages;
