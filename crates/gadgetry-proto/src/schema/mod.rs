//! Gadget specifications: the schema of their parameters, and how the text of a block becomes parameters.
//!
//! [`parameters`] builds the JSON object from pointers and texts, [`coerce`](mod@coerce) reads one text, and
//! [`Schema`] says what a place admits, fills in defaults and lists what is wrong.

mod closest;
pub mod coerce;
mod compiled;
mod count;
mod digits;
mod gadget;
mod json;
mod numbers;
mod parameters;
pub mod pointer;
mod registry;
mod slips;

pub use closest::{closest, slip_of};
pub use coerce::coerce;
pub use coerce::coerce_json;
pub(crate) use compiled::Container;
pub use compiled::Problem;
pub use compiled::Schema;
pub use compiled::SchemaError;
pub(crate) use compiled::Types;
pub use compiled::View;
pub(crate) use compiled::normalized;
pub(crate) use count::count;
pub(crate) use digits::Shaped;
pub use gadget::Example;
pub use gadget::GadgetSpec;
pub use gadget::OnInterrupt;
pub use gadget::RegisteredGadget;
pub use gadget::Unterminated;
pub use gadget::invalid_parameters;
#[cfg(feature = "engine")]
pub(crate) use gadget::parse_failure;
pub(crate) use json::Json;
pub(crate) use json::has_too_many_values;
pub(crate) use json::is_json;
pub use json::json_message;
pub use json::read_json;
pub use json::read_plain_json;
pub(crate) use json::values;
pub(crate) use parameters::container;
pub use parameters::json_parameters;
pub use parameters::parameters;
pub(crate) use parameters::parameters_noting;
pub(crate) use parameters::{
    Notes, json_parameters_noting, read_whole, shape_parameters, shaped_json,
};
pub use registry::Registry;
pub use registry::RegistryError;
pub(crate) use slips::Slips;

#[cfg(test)]
#[cfg(feature = "engine")]
mod tests;
