//! The tests of the runtime: one program, because each program links the runtime again.

mod agent;
mod approval;
mod approval_binding;
mod approval_stream;
mod ask;
mod command_gadgets;
mod context;
mod control;
mod driver;
mod durable;
mod edge_cases;
mod examples;
mod gadget_files;
mod gadgets;
mod interrupted;
pub mod macro_gadgets;
pub mod macro_methods;
pub mod macro_permissions;
mod module_order;
mod presets;
mod runtime;
mod scripted_model;
mod skills;
mod spans;
mod subagents;
mod support;
mod typed_gadgets;
