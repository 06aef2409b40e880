//! The service over real sockets.

mod keys;
mod operation;
mod replies;
mod tenants;
mod upstreams;
