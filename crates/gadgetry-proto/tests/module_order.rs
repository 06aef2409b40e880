//! Modules name only modules above them in the table of the crate's root, and no files are in a circle.

use gadgetry_order::Order;

/// Arrows that close circles. This list only shrinks.
const CLOSING: &[&str] = &[
    "grammar/call.rs -> grammar/mod.rs",
    "grammar/json.rs -> grammar/mod.rs",
    "grammar/json.rs -> grammar/object.rs",
    "grammar/tag.rs -> grammar/mod.rs",
];

#[test]
fn modules_are_in_order() {
    Order::of(env!("CARGO_MANIFEST_DIR"))
        .except(CLOSING)
        .check();
}
