//! Tests of the messages about functions that cannot be gadgets, and of what is written next to those that can. How it compiles
//! and runs is tested where the runtime is: `gadgetry/tests/macro_gadgets.rs` and `gadgetry/tests/ui`.

mod arguments;
mod functions;
mod written;

use proc_macro2::TokenStream;

use crate::ast::Function;
use crate::attr::Options;
use crate::mistakes::Mistakes;
use crate::valid::Gadget;

#[test]
fn modules_are_in_order() {
    gadgetry_order::Order::of(env!("CARGO_MANIFEST_DIR")).check();
}

fn tokens(text: &str) -> TokenStream {
    text.parse().expect("tokens")
}

/// Returns what is read of a gadget, and the messages about it.
fn read(arguments: &str, function: &str) -> (Gadget, Vec<String>) {
    let function = Function::parse(tokens(function)).expect("a function");
    let mut mistakes = Mistakes::default();
    let options = Options::parse(tokens(arguments), &mut mistakes);
    let gadget = Gadget::check(&function, options, &mut mistakes);
    let said = mistakes.into_error().into_iter().flatten();
    (gadget, said.map(|it| it.to_string()).collect())
}
