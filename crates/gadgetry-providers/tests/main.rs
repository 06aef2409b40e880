//! The tests of the providers: one program, because each program links the crate again.

mod adapter;
mod anthropic_wire;
#[cfg(feature = "http")]
mod completions_wire;
mod foreign_servers;
mod models;
mod module_order;
mod openai_wire;
mod resolve;
#[cfg(feature = "http")]
mod responses_wire;
#[cfg(feature = "http")]
mod sampling;
mod sse;
mod support;
mod wire_codecs;
mod wire_mutations;
