//! MCP servers of the command line: which ones are used, consent to them, and their connections.
//!
//! | module | what it does |
//! |---|---|
//! | `configured` | `[mcp.servers.NAME]` |
//! | `consent` | which servers of files the user has agreed to |
//! | `connected` | the connections, until the end of the program |
//! | `login` | where the tokens of logins are |
//!
//! Without the feature `mcp`, only the words about its absence are left.

#[cfg(not(feature = "mcp"))]
mod absent;
#[cfg(feature = "mcp")]
mod configured;
#[cfg(feature = "mcp")]
mod connected;
#[cfg(feature = "mcp")]
mod consent;
#[cfg(feature = "mcp")]
mod login;

#[cfg(not(feature = "mcp"))]
pub(crate) use absent::{Connected, connect, until_ended};
#[cfg(feature = "mcp")]
pub(crate) use {
    configured::{Configured, check_address, configured},
    connected::{Connected, connect, is_agreed, open, until_ended},
    consent::{Consent, Consents, Subject},
    login::{explained, tokens},
};
