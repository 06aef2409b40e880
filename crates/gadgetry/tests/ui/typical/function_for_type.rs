//! The function in place of the gadget that was made of it.

use gadgetry::{Agent, gadget};

/// Adds two numbers
#[gadget]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {
    let _ = Agent::builder().gadget(add);
}
