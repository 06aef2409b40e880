//! The tests of the built-in gadgets: one program, because each program links the crate again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod approvals;
mod checkpoints;
mod commands;
mod editor;
mod encodings;
mod escapes;
#[cfg(feature = "fetch")]
mod fetch;
mod files;
mod large_files;
mod module_order;
mod repositories;
#[cfg(target_os = "linux")]
mod sandbox;
mod small_window;
mod stage;
mod todo;
