//! The pages of `docs/guide` about traces. Their code is compiled and run as doc tests.

#[doc = include_str!("../../../docs/guide/traces.md")]
mod traces {}
