//! The tests of the crate.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails here")]

mod approvals;
mod hostile_clients;
mod http_limits;
mod login;
mod module_order;
mod odd_servers;
mod own_server;
mod peer_clients;
mod peer_servers;
mod support;
