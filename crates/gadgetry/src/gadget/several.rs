//! Several gadgets at once.

use std::sync::Arc;

use crate::gadget::{DynGadget, IntoGadget};

/// Several gadgets, for [`AgentBuilder::gadgets`](crate::AgentBuilder::gadgets), which infers `Kind`: anything that can be
/// iterated over, or a tuple of up to twelve, whose types may differ.
///
/// ```
/// use gadgetry::{Agent, gadget};
///
/// /// Adds two numbers
/// #[gadget]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// /// Says it again
/// #[gadget]
/// fn echo(text: String) -> String {
///     text
/// }
///
/// let agent = Agent::builder().gadgets((Add, Echo));
/// let agent = agent.gadgets(gadgetry::command::load("gadgets.toml".as_ref()).unwrap_or_default());
/// # let _ = agent;
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be added as several gadgets",
    note = "`.gadgets(…)` takes a tuple, an array or an iterator of gadgets; one gadget is added with `.gadget(…)`"
)]
pub trait IntoGadgets<Kind> {
    /// Returns the gadgets in the form that a toolbox stores.
    fn into_gadgets(self) -> Vec<Arc<dyn DynGadget>>;
}

/// The kind of iterables.
#[derive(Debug)]
pub struct Iterated;

impl<I: IntoIterator<Item: IntoGadget>> IntoGadgets<Iterated> for I {
    fn into_gadgets(self) -> Vec<Arc<dyn DynGadget>> {
        self.into_iter().map(IntoGadget::into_gadget).collect()
    }
}

/// The kind of tuples.
#[derive(Debug)]
pub struct Tuple;

macro_rules! tuples {
    ($first:ident $($rest:ident)*) => {
        impl<$first: IntoGadget, $($rest: IntoGadget),*> IntoGadgets<Tuple> for ($first, $($rest,)*) {
            #[expect(non_snake_case, reason = "the types name the values")]
            fn into_gadgets(self) -> Vec<Arc<dyn DynGadget>> {
                let ($first, $($rest,)*) = self;
                vec![$first.into_gadget(), $($rest.into_gadget()),*]
            }
        }
        tuples!($($rest)*);
    };
    () => {};
}

tuples!(A B C D E F G H I J K L);
