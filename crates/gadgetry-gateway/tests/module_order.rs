//! Modules name only modules above them in the table of the crate's root, and no files are in a circle.

use gadgetry_order::Order;

/// Arrows that close circles. This list only shrinks.
const CLOSING: &[&str] = &[
    "server/constraint.rs -> server/reply.rs",
    "server/reply.rs -> server/stream.rs",
];

/// Modules that name modules below them. This list only shrinks.
const UPWARD: &[&str] = &["exchange -> api"];

#[test]
fn modules_are_in_order() {
    Order::of(env!("CARGO_MANIFEST_DIR"))
        .except(CLOSING)
        .except_upward(UPWARD)
        .check();
}
