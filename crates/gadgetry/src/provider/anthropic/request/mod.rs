//! Requests of the Messages API.

pub(super) mod encode;
mod messages;
