//! An argument that is borrowed.

/// Greets
#[gadgetry::gadget]
fn greet(name: &str) -> String {
    format!("Hello {name}")
}

fn main() {}
