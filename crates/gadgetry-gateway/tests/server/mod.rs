//! The service over real sockets.

mod completions;
mod grammars;
mod keys;
mod metrics;
mod operation;
mod replies;
mod tenants;
mod upstreams;
