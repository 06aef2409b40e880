//! Parameters that a model cannot fill.

use gadgetry::{ExecutionContext, Toolbox, gadget};

/// Looks something up.
#[gadget]
fn look_up(
    borrowed: &str,
    slice: Option<&'static [u8]>,
    generic: impl ToString,
    (left, right): (u8, u8),
    _: u8,
    #[gadget(defualt = 3)] count: u8,
    #[cfg(unix)] unix: bool,
    context: &ExecutionContext,
    #[serde(skip)] another: ExecutionContext,
) {
    let _ = (borrowed, slice, generic.to_string(), left, right, count, unix, context, another);
}

fn main() {
    let _ = Toolbox::default().add(LookUp);
}
