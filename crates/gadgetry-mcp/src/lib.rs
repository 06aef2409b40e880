//! MCP both ways: tools of servers as gadgets, and gadgets as the tools of a server.
//!
//! | module | what it does |
//! |---|---|
//! | [`config`] | [`ServerConfig`]: how one server is reached |
//! | [`client`] | [`Servers`]: servers of others, whose tools and resources become gadgets |
//! | [`login`] | [`Login`]: OAuth for servers over HTTP; [`Tokens`], which are kept in files |
//! | [`import`] | server lists of other programs, as configurations of ours |
//! | [`server`] | [`GadgetServer`]: gadgets as tools, and skills as prompts, over stdio and HTTP |
//!
//! The protocol itself is `rmcp`'s. Both its revisions are spoken, 2026-07-28 and 2025-11-25, with older ones as far as they
//! are compatible.

pub mod client;
pub mod config;
#[cfg(doctest)]
mod guide;
pub mod import;
pub mod login;
pub mod server;
mod variables;

#[doc(inline)]
pub use client::{
    BASE_ENVIRONMENT, ConnectError, Offer, RestartPolicy, ServerFailure, Servers, ToolWarning,
};
#[doc(inline)]
pub use config::{Protocol, ServerConfig};
#[doc(inline)]
pub use login::{Login, LoginError, Tokens};
#[doc(inline)]
pub use server::{GadgetServer, HttpOptions, ServeError};
