//! Data flow is module order, as in the engine: the same checker reads this crate's table and sources.

#[path = "../../gadgetry-proto/tests/module_order.rs"]
mod module_order;
