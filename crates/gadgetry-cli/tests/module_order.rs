//! Modules name only modules above them in the table of the crate's root, and no files are in a circle.

use gadgetry_order::Order;

/// Arrows that close circles. This list only shrinks.
const CLOSING: &[&str] = &[
    "chat/state.rs -> chat/state/dialog.rs",
    "chat/state.rs -> chat/state/run.rs",
];

#[test]
fn modules_are_in_order() {
    Order::of(env!("CARGO_MANIFEST_DIR"))
        .except(CLOSING)
        .check();
}
