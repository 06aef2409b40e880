//! A result that no text can be made of.

struct Opaque;

/// Makes one
#[gadgetry::gadget]
fn make() -> Opaque {
    Opaque
}

fn main() {}
