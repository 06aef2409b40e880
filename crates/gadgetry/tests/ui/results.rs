//! A result that the model cannot be told.

use gadgetry::gadget;

struct Opaque;

/// Returns what has no text
#[gadget]
fn unspeakable(a: u8) -> Opaque {
    let _ = a;
    Opaque
}

/// Fails in no words
#[gadget]
async fn wordless(a: u8) -> Result<u8, Opaque> {
    Ok(a)
}

fn main() {}
