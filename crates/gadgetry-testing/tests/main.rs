//! The tools that test others, tested.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod agents;
mod checker;
mod conversations;
mod cuts;
mod events;
mod gadgets;
mod matchers;
mod module_order;
mod recorded;
mod replies;
mod rules;
mod strictness;
mod support;
