//! The page about the gateway in `docs/guide`. Its code is compiled as doc tests; the page is read where it is.

#[doc = include_str!("../../../docs/guide/gateway.md")]
mod gateway {}
