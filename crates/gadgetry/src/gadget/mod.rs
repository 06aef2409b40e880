//! The ways to define a gadget, and the type that all of them become.
//!
//! | way | for |
//! |---|---|
//! | [`#[gadget]`](macro@crate::gadget) | gadgets without state: a function |
//! | [`#[gadgets]`](macro@crate::gadgets) | gadgets that share a state: the methods of a type |
//! | [`typed`] | a closure that captures its state, and whose parameters are a type |
//! | [`Gadget`] | the trait for everything else; the parameters are a type |
//! | [`from_fn`] | gadgets that are known only at run time: a specification and a closure |
//! | [`CommandGadget`](crate::CommandGadget) | programs |
//!
//! All of them are [`IntoGadget`] and become a [`DynGadget`], which a [`Toolbox`](crate::Toolbox) holds. Parameters are
//! checked by the engine against the schema in all cases.

mod approved;
mod call;
mod closure;
mod from_model;
mod function;
mod outcome;
mod output;
mod params;
mod preview;
mod schema;
mod several;
mod typed;
mod validate;

use std::future::ready;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use gadgetry_proto::call::Outcome;
use gadgetry_proto::schema::GadgetSpec;
use serde_json::Value;

use crate::context::ExecutionContext;
use crate::run_context::Need;

pub use crate::error::GadgetError;
pub(crate) use approved::Approved;
pub(crate) use call::{attempt, call, closed};
pub use closure::{TypedFn, typed};
pub use from_model::FromModel;
pub use function::{FnGadget, from_fn};
pub use outcome::IntoOutcome;
pub use output::GadgetOutput;
pub use params::InvalidParams;
pub(crate) use params::read;
pub use preview::{
    CallPreview, CommandLine, IntoPreview, Origin, Permission, Subject, UnknownPermission,
};
pub use several::IntoGadgets;
pub use typed::{Gadget, GadgetInfo, NoParams};
pub use validate::validate_gadget_params;

/// Something that a model can call, however it was defined.
pub trait DynGadget: Send + Sync {
    /// Returns its description for the model and its limits for the scheduler.
    fn spec(&self) -> &GadgetSpec;

    /// Executes a call. `parameters` are coerced and validated against the schema of [`DynGadget::spec`].
    ///
    /// A gadget does not enforce its own `timeout_ms`: the caller cancels the token of `context`, waits for the grace
    /// period, and then drops the future.
    ///
    /// Cancel safety: dropping the future must end the work. A gadget that has to clean up watches
    /// [`ExecutionContext::cancellation`] and returns soon after.
    fn execute(&self, parameters: Value, context: ExecutionContext) -> BoxFuture<'static, Outcome>;

    /// Checks parameters as a run does before it executes a call, and returns them with defaults filled in.
    ///
    /// # Errors
    ///
    /// [`InvalidParams`] with everything that violates the schema of [`DynGadget::spec`]. Gadgets whose parameters are a type
    /// also report errors of serde.
    fn check(&self, parameters: Value) -> Result<Value, InvalidParams> {
        params::checked(self.spec(), parameters)
    }

    /// Returns the decision about calls that no rule of [`approval`](crate::approval) matches: [`Permission::Allow`] by default.
    fn permission(&self) -> Permission {
        Permission::Allow
    }

    /// Returns the types of the values that its calls take from the run; see [`ExecutionContext::get`]. A run without a value of
    /// one of these types fails before its first request. None by default.
    fn needs(&self) -> &[Need] {
        &[]
    }

    /// Returns the effects that a call would have, for rules and for the user who approves it. Changes nothing.
    ///
    /// It may be called several times for one call. [`DynGadget::execute`] checks with [`ExecutionContext::check_approved`] that
    /// its effects are still the approved ones.
    ///
    /// # Errors
    ///
    /// The call cannot be executed, for a reason that the model reads, such as a path outside the workspace.
    fn preview<'a>(&'a self, parameters: &'a Value) -> BoxFuture<'a, Result<CallPreview, String>> {
        let _ = parameters;
        Box::pin(ready(Ok(CallPreview::default())))
    }
}

/// Value that becomes a gadget of a [`Toolbox`](crate::Toolbox), however it was defined.
///
/// Implemented by every [`Gadget`], also in an `Arc`, so that its owner can keep it. A type that implements [`DynGadget`] itself
/// is added as an `Arc<dyn DynGadget>`, or implements this as well.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a gadget",
    label = "not a gadget",
    note = "`#[gadget]` on `fn add` makes the type `Add`, which is the gadget: use `Add` in place of `add`",
    note = "a closure becomes a gadget by `gadgetry::typed` or `gadgetry::from_fn`, another type by `impl Gadget`"
)]
pub trait IntoGadget {
    /// Converts it into the form that a toolbox holds.
    fn into_gadget(self) -> Arc<dyn DynGadget>;
}

impl IntoGadget for Arc<dyn DynGadget> {
    fn into_gadget(self) -> Arc<dyn DynGadget> {
        self
    }
}
