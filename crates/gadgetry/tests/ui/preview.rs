//! Functions that cannot preview a call.

use gadgetry::gadget;

fn wrong_arguments(path: &u8) -> String {
    path.to_string()
}

/// Deletes a file
#[gadget(preview = wrong_arguments)]
fn delete(path: String) {
    drop(path);
}

fn no_preview(_: &str) -> u8 {
    0
}

/// Makes a file
#[gadget(permission = "ask", preview = no_preview)]
fn create(path: String) {
    drop(path);
}

fn main() {}
