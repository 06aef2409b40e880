//! Hooks made of one closure. Each one decides one kind of question.
//!
//! ```
//! use gadgetry::control::{OnModelError, closures};
//! let apologise = closures::on_model_error(|failure| async move {
//!     OnModelError::Reply(format!("The model is unavailable: {}", failure.error))
//! });
//! # fn is_hook(_: impl gadgetry::control::Hook) {}
//! # is_hook(apologise);
//! ```

use gadgetry_proto::message::Request;
use gadgetry_proto::run::Start;

use crate::control::{
    AfterGadget, AfterModelCall, BeforeCompaction, BeforeGadget, BeforeModelCall, CompactionDue,
    GadgetDone, Hook, ModelFailure, OnDependencySkipped, OnGadgetError, OnModelError, Reply,
    RunContext, UnmetDependency,
};

/// Defines a function, and the type that it returns.
macro_rules! closures {
    ($($(#[$doc:meta])* $method:ident($input:ty) -> $output:ty, $type:ident;)*) => {$(
        $(#[$doc])*
        pub fn $method<F, R>(decide: F) -> impl Hook + 'static
        where
            F: Fn($input) -> R + Send + Sync + 'static,
            R: Future<Output = $output> + Send + 'static,
        {
            $type(decide)
        }

        struct $type<F>(F);

        impl<F, R> Hook for $type<F>
        where
            F: Fn($input) -> R + Send + Sync + 'static,
            R: Future<Output = $output> + Send + 'static,
        {
            fn $method(&self, _: &RunContext, about: &$input) -> impl Future<Output = $output> + Send {
                (self.0)(about.clone())
            }
        }
    )*};
}

closures! {
    /// Decides about requests; see [`Hook::before_model_call`].
    before_model_call(Request) -> BeforeModelCall, BeforeModel;
    /// Decides about compactions; see [`Hook::before_compaction`].
    before_compaction(CompactionDue) -> BeforeCompaction, Compaction;
    /// Decides about replies; see [`Hook::after_model_call`].
    after_model_call(Reply) -> AfterModelCall, AfterModel;
    /// Decides about model errors; see [`Hook::on_model_error`].
    on_model_error(ModelFailure) -> OnModelError, ModelError;
    /// Decides about failed gadgets; see [`Hook::on_gadget_error`].
    on_gadget_error(GadgetDone) -> OnGadgetError, GadgetError;
    /// Decides about calls; see [`Hook::before_gadget`].
    before_gadget(Start) -> BeforeGadget, Before;
    /// Decides about results; see [`Hook::after_gadget`].
    after_gadget(GadgetDone) -> AfterGadget, After;
    /// Decides about unmet dependencies; see [`Hook::on_dependency_skipped`].
    on_dependency_skipped(UnmetDependency) -> OnDependencySkipped, Skipped;
}
