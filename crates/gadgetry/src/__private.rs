//! Items that the expansion of `#[gadget]` uses. Not part of the public interface: they change without notice.
//!
//! # From a return value to a result
//!
//! ```
//! # use gadgetry::{GadgetError, GadgetOutput};
//! # let value: Result<u8, String> = Ok(5);
//! let result: Result<GadgetOutput, GadgetError> = ::gadgetry::__private::into_result!(value);
//! # assert_eq!(result.unwrap().text(), "5");
//! ```
//!
//! `value` is the result of the body (of an `async` one, after `.await`), and its type is known by then. The first of these that
//! fits applies:
//!
//! 1. `Result<T, E>`, where `?` turns `E` into a [`GadgetError`]: every error, boxed or not, every text, and
//!    `GadgetError` itself;
//! 2. `Result<T, E>`, where `E` is `Display`;
//! 3. `T` itself;
//! 4. anything else, which is a mistake: the compiler reports what a gadget may return.
//!
//! `T` is anything that becomes a [`GadgetOutput`]: that type itself, or anything `Serialize`, `()` included.
//!
//! Written out, the macro is `::gadgetry::__private::wrap(&value)` in `wrapped`, all four traits in scope, and
//! `(&&&wrapped).result_of(value)`: of the methods with that name the compiler selects the one that needs the fewest
//! dereferences, which gives the order above.

use std::fmt::Display;
use std::marker::PhantomData;

use crate::gadget::{GadgetError, GadgetOutput};

pub use {schemars, serde, serde_json};

/// See the module.
#[doc(hidden)]
#[macro_export]
macro_rules! __gadgetry_into_result {
    ($value:expr) => {
        match $value {
            value => {
                #[allow(unused_imports)]
                use $crate::__private::{OfDisplay as _, OfError as _, OfUnfit as _, OfValue as _};
                let wrapped = $crate::__private::wrap(&value);
                (&&&wrapped).result_of(value)
            }
        }
    };
}

#[doc(hidden)]
pub use __gadgetry_into_result as into_result;

/// The result of a function that may block. Dropping the future does not stop the function.
pub async fn blocking(
    work: impl FnOnce() -> Result<GadgetOutput, GadgetError> + Send + 'static,
) -> Result<GadgetOutput, GadgetError> {
    let span = tracing::Span::current();
    let work = tokio::task::spawn_blocking(move || span.in_scope(work));
    match work.await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down.
            Err(_) => Err(GadgetError::cancelled()),
        },
    }
}

/// The type of a value, without the value.
#[derive(Debug)]
pub struct Wrap<T>(PhantomData<fn() -> T>);

impl<T> Clone for Wrap<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Wrap<T> {}

/// The type of `value`.
pub fn wrap<T>(_value: &T) -> Wrap<T> {
    Wrap(PhantomData)
}

/// Rule 1.
pub trait OfError<T> {
    /// See the module.
    fn result_of(&self, value: T) -> Result<GadgetOutput, GadgetError>;
}

impl<T: Into<GadgetOutput>, E: Into<GadgetError>> OfError<Result<T, E>> for &&Wrap<Result<T, E>> {
    fn result_of(&self, value: Result<T, E>) -> Result<GadgetOutput, GadgetError> {
        value.map(Into::into).map_err(Into::into)
    }
}

/// Rule 2.
pub trait OfDisplay<T> {
    /// See the module.
    fn result_of(&self, value: T) -> Result<GadgetOutput, GadgetError>;
}

impl<T: Into<GadgetOutput>, E: Display> OfDisplay<Result<T, E>> for &Wrap<Result<T, E>> {
    fn result_of(&self, value: Result<T, E>) -> Result<GadgetOutput, GadgetError> {
        value.map(Into::into).map_err(GadgetError::new)
    }
}

/// Rule 3.
pub trait OfValue<T> {
    /// See the module.
    fn result_of(&self, value: T) -> Result<GadgetOutput, GadgetError>;
}

impl<T: Into<GadgetOutput>> OfValue<T> for Wrap<T> {
    fn result_of(&self, value: T) -> Result<GadgetOutput, GadgetError> {
        Ok(value.into())
    }
}

/// Rule 4.
pub trait OfUnfit<T> {
    /// See the module.
    fn result_of(self, value: T) -> Result<GadgetOutput, GadgetError>
    where
        T: GadgetResult;
}

impl<T> OfUnfit<T> for Wrap<T> {
    fn result_of(self, value: T) -> Result<GadgetOutput, GadgetError>
    where
        T: GadgetResult,
    {
        value.result()
    }
}

/// No type implements this trait: it exists for the message of the compiler.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a gadget",
    label = "no text for the model comes of this type",
    note = "a gadget returns a text, anything `Serialize`, a `GadgetOutput`, or a `Result` of these; \
            its error is a `GadgetError`, a `std::error::Error` or anything `Display`"
)]
pub trait GadgetResult {
    /// See the module.
    fn result(self) -> Result<GadgetOutput, GadgetError>;
}
