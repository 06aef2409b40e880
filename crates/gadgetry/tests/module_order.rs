//! Modules name only modules above them in the table of the crate's root, and no files are in a circle.

use gadgetry_order::Order;

/// Arrows that close circles. This list only shrinks.
const CLOSING: &[&str] = &[
    "agent/durable.rs -> agent/run.rs",
    "agent/mod.rs -> agent/builder/mod.rs",
    "agent/mod.rs -> agent/run.rs",
    "agent/run.rs -> agent/typed.rs",
    "approval/binding.rs -> approval/mod.rs",
    "ask/attempt.rs -> ask/mod.rs",
    "ask/retries.rs -> ask/mod.rs",
    "command/exec.rs -> command/mod.rs",
    "command/file.rs -> command/mod.rs",
    "skill/gadget.rs -> skill/mod.rs",
];

#[test]
fn modules_are_in_order() {
    Order::of(env!("CARGO_MANIFEST_DIR"))
        .except(CLOSING)
        .check();
}
