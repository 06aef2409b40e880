//! Chat Completions: what is sent, and what is made of everything that servers answer.

#![cfg(feature = "providers")]

mod calls;
mod errors;
mod http;
mod keys;
mod mutations;
mod replies;
mod requests;
mod server;
mod show;
