//! The page of `docs/guide` about the inspector. Its code is compiled and run as doc tests.

#[doc = include_str!("../../../docs/guide/inspect.md")]
mod inspect {}
