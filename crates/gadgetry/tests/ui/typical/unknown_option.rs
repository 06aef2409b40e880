//! An option that does not exist.

/// Greets
#[gadgetry::gadget(retries = 3)]
fn greet(name: String) -> String {
    name
}

fn main() {}
