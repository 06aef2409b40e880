//! Checks of parameters without an execution.

use serde_json::Value;

use crate::gadget::{IntoGadget, InvalidParams};

/// Checks parameters without executing the gadget, and returns them with defaults filled in.
///
/// Accepts everything that a toolbox accepts; for a gadget in a reference or an `Arc`, use
/// [`DynGadget::check`](crate::DynGadget::check).
///
/// # Errors
///
/// [`InvalidParams`], as for [`DynGadget::check`](crate::DynGadget::check).
///
/// ```
/// use gadgetry::{gadget, validate_gadget_params};
/// use serde_json::json;
///
/// /// Adds two numbers.
/// #[gadget]
/// fn add(a: f64, #[gadget(default = 0.0)] b: f64) -> f64 {
///     a + b
/// }
///
/// assert_eq!(validate_gadget_params(Add, json!({ "a": 5 })), Ok(json!({ "a": 5, "b": 0.0 })));
///
/// let refused = validate_gadget_params(Add, json!({ "a": "x" })).unwrap_err();
/// assert_eq!(refused.to_string(), "Invalid parameters:\n  - a: expected number, got string \"x\"");
/// ```
pub fn validate_gadget_params(
    gadget: impl IntoGadget,
    params: Value,
) -> Result<Value, InvalidParams> {
    gadget.into_gadget().check(params)
}
