//! Functions that cannot be gadgets.

use gadgetry::gadget;

#[gadget]
fn undescribed() {}

#[gadget(description = "Takes anything")]
fn generic<T: Default, const N: usize>(value: T) -> [T; N] {
    drop(value);
    [(); N].map(|()| T::default())
}

#[gadget(description = "Borrows")]
fn borrowing<'a>() -> &'a str {
    ""
}

#[gadget(description = "Three mistakes in one")]
const unsafe extern "C" fn foreign() {}

#[gadget(description = "Has the name of its type")]
#[allow(non_snake_case)]
fn Shout() {}

struct Counter;

impl Counter {
    #[gadget(description = "Belongs to something")]
    fn count(&self) {}
}

fn main() {
    undescribed();
    Shout();
    Counter.count();
}
