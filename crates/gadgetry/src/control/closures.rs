//! Controllers made of one closure. Each answers one kind of question.
//!
//! ```
//! use gadgetry::control::{OnModelError, closures};
//! let apologise = closures::on_model_error(|failure| async move {
//!     OnModelError::Reply(format!("The model is unavailable: {}", failure.error))
//! });
//! # fn is_controller(_: impl gadgetry::control::Controller) {}
//! # is_controller(apologise);
//! ```

use gadgetry_proto::message::Request;
use gadgetry_proto::run::{Asks, Start};

use crate::control::{
    AfterGadget, AfterModelCall, BeforeGadget, BeforeModelCall, Controller, GadgetDone,
    ModelFailure, OnDependencySkipped, OnModelError, Reply, UnmetDependency,
};

/// Defines a function, the type that it returns, and the question of that type.
macro_rules! closures {
    ($($(#[$doc:meta])* $method:ident($input:ty) -> $output:ty, $type:ident asks $question:ident;)*) => {$(
        $(#[$doc])*
        pub fn $method<F, R>(decide: F) -> impl Controller + 'static
        where
            F: Fn($input) -> R + Send + Sync + 'static,
            R: Future<Output = $output> + Send + 'static,
        {
            $type(decide)
        }

        struct $type<F>(F);

        impl<F, R> Controller for $type<F>
        where
            F: Fn($input) -> R + Send + Sync + 'static,
            R: Future<Output = $output> + Send + 'static,
        {
            fn asks(&self) -> Asks {
                Asks { $question: true, ..Asks::default() }
            }

            fn $method(&self, about: &$input) -> impl Future<Output = $output> + Send {
                (self.0)(about.clone())
            }
        }
    )*};
}

closures! {
    /// Decides about requests; see [`Controller::before_model_call`].
    before_model_call(Request) -> BeforeModelCall, BeforeModel asks before_model_call;
    /// Decides about replies; see [`Controller::after_model_call`].
    after_model_call(Reply) -> AfterModelCall, AfterModel asks after_model_call;
    /// Decides about model errors; see [`Controller::on_model_error`].
    on_model_error(ModelFailure) -> OnModelError, ModelError asks model_error;
    /// Decides about calls; see [`Controller::before_gadget`].
    before_gadget(Start) -> BeforeGadget, Before asks before_gadget;
    /// Decides about results; see [`Controller::after_gadget`].
    after_gadget(GadgetDone) -> AfterGadget, After asks after_gadget;
    /// Decides about unmet dependencies; see [`Controller::on_dependency_skipped`].
    on_dependency_skipped(UnmetDependency) -> OnDependencySkipped, Skipped asks dependency_skipped;
}
