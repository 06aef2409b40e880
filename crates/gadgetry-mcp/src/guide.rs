//! The page about MCP in `docs/guide`. Its code is compiled and run as doc tests; the page is read where it is.

#[doc = include_str!("../../../docs/guide/mcp.md")]
mod mcp {}
