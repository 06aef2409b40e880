//! The parts of an exchange can be read alone.

use gadgetry_order::Parts;

/// The order is the table of comments in `src/exchange/mod.rs`.
#[test]
fn parts_of_an_exchange_are_in_order() {
    Parts::of(env!("CARGO_MANIFEST_DIR"), "exchange", "Exchange").check();
}
