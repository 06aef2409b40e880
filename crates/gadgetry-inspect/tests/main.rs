//! The inspector from outside.

mod module_order;
mod server;
