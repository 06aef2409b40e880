//! The parts of a run can be read alone.

use gadgetry_order::Parts;

/// The order is the table of comments in `src/run/mod.rs`.
#[test]
fn parts_of_a_run_are_in_order() {
    Parts::of(env!("CARGO_MANIFEST_DIR"), "run", "Run").check();
}
