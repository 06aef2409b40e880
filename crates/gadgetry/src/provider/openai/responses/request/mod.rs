//! Requests of the Responses API.

pub(super) mod encode;
mod items;
