//! MCP both ways: tools of servers as gadgets, and gadgets as the tools of a server.
//!
//! A module names only modules above it.
//!
//! | module | what it does |
//! |---|---|
//! | `variables`, `http_client` | `${NAME}` in configurations; the HTTP client of all requests |
//! | `tokens` | [`Tokens`]: those of logins, in files |
//! | [`config`] | [`ServerConfig`]: how one server is reached |
//! | [`login`] | [`Login`]: OAuth for servers over HTTP |
//! | [`client`] | [`Servers`]: servers of others, whose tools and resources become gadgets |
//! | [`import`] | server lists of other programs, as configurations of ours |
//! | [`server`] | [`GadgetServer`]: gadgets as tools, and skills as prompts, over stdio and HTTP |
//!
//! The protocol itself is `rmcp`'s. Both its revisions are spoken, 2026-07-28 and 2025-11-25, with older ones as far as they
//! are compatible.

pub mod client;
pub mod config;
#[cfg(doctest)]
mod guide;
mod http_client;
pub mod import;
pub mod login;
pub mod server;
mod tokens;
mod variables;

#[doc(inline)]
pub use client::{
    BASE_ENVIRONMENT, ConnectError, Offer, RestartPolicy, ServerFailure, Servers, ToolWarning,
};
#[doc(inline)]
pub use config::{Protocol, ServerConfig};
#[doc(inline)]
pub use login::{Login, LoginError};
#[doc(inline)]
pub use server::{GadgetServer, HttpOptions, ServeError};
#[doc(inline)]
pub use tokens::Tokens;
