//! The pages of `docs/guide` about the web and approvals. Their code is compiled and run as doc tests.

#[doc = include_str!("../../../docs/guide/web.md")]
mod web {}
