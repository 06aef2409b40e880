//! No doc comment.

#[gadgetry::gadget]
fn greet(name: String) -> String {
    name
}

fn main() {}
