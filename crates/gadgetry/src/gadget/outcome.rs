//! Return values of the closures of gadgets.

use gadgetry_proto::call::Outcome;

use crate::gadget::{GadgetError, GadgetOutput};

/// Return value of the closure of [`from_fn`](crate::from_fn): a `Result`, so that `?` works in it, or an [`Outcome`]. No other
/// type can implement this trait: implement `Serialize` for your own type, and return it in `Ok`.
///
/// ```
/// use gadgetry::{GadgetError, IntoOutcome};
///
/// let done: Result<&str, _> = Err(GadgetError::task_complete("all files are copied"));
/// assert!(done.into_outcome().completes_run);
/// assert_eq!(Ok(vec![1, 2]).into_outcome().result.as_deref(), Ok("[1,2]"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a gadget's closure may give back",
    note = "give back `Ok(value)` or a `GadgetError`, or an `Outcome`"
)]
pub trait IntoOutcome: sealed::Sealed {
    /// Returns the outcome of the call.
    fn into_outcome(self) -> Outcome;
}

mod sealed {
    use super::{GadgetError, GadgetOutput, Outcome};

    pub trait Sealed {}
    impl Sealed for Outcome {}
    impl<T: Into<GadgetOutput>> Sealed for Result<T, GadgetError> {}
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

impl<T: Into<GadgetOutput>> IntoOutcome for Result<T, GadgetError> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(output) => output.into().outcome(),
            Err(error) => error.outcome(),
        }
    }
}
