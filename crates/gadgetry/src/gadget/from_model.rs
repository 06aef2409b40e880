//! Types that a model can write.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// Type that a model can write: parameters of gadgets, and answers. Implemented for everything `Deserialize` and `JsonSchema`.
///
/// The schema describes what to write, and serde reads it. A crate that depends on gadgetry alone derives both from its
/// re-exports:
///
/// ```
/// use gadgetry::gadget::FromModel;
/// use gadgetry::schemars::JsonSchema;
/// use gadgetry::serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(crate = "gadgetry::serde")]
/// #[schemars(crate = "gadgetry::schemars")]
/// enum Units {
///     Celsius,
///     Fahrenheit,
/// }
///
/// fn is_written_by_a_model<T: FromModel>() {}
/// is_written_by_a_model::<Option<Units>>();
/// ```
#[diagnostic::on_unimplemented(
    message = "a model cannot write a `{Self}`: that needs `Deserialize` and `JsonSchema`",
    label = "derive both on the type",
    note = "`#[derive(gadgetry::serde::Deserialize, gadgetry::schemars::JsonSchema)]`",
    note = "and in a crate that depends on gadgetry alone, `#[serde(crate = \"gadgetry::serde\")] #[schemars(crate = \"gadgetry::schemars\")]`"
)]
pub trait FromModel: DeserializeOwned + JsonSchema {}

// Without it, the compiler reports the two traits one by one.
#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> FromModel for T {}
