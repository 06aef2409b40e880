//! The tests of the runtime: one program, because each program links the runtime again.

mod adapter;
mod agent;
mod anthropic_wire;
mod approval;
mod approval_binding;
mod ask;
mod command_gadgets;
#[cfg(feature = "providers")]
mod completions_wire;
mod context;
mod control;
mod driver;
mod durable;
mod edge_cases;
mod examples;
mod foreign_servers;
mod gadget_files;
mod gadgets;
mod interrupted;
pub mod macro_gadgets;
pub mod macro_methods;
mod models;
mod module_order;
mod openai_wire;
mod presets;
mod resolve;
#[cfg(feature = "providers")]
mod responses_wire;
mod runtime;
mod scripted_model;
mod skills;
mod spans;
mod sse;
mod subagents;
mod support;
mod typed_gadgets;
mod wire_codecs;
mod wire_mutations;
