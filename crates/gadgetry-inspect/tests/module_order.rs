//! Modules name only modules above them in the table of the crate's root, and no files are in a circle.

use gadgetry_order::Order;

#[test]
fn modules_are_in_order() {
    Order::of(env!("CARGO_MANIFEST_DIR")).check();
}
