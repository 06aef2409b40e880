//! Errors as exceptions that the package reads.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use gadgetry_bindings::Problem;
use napi::Error;

/// Begins the text of an exception that the package reads as JSON.
const MARK: &str = "gadgetry:";

/// Makes the exception of a problem.
pub(crate) fn raised(problem: Problem) -> Error {
    Error::from_reason(format!("{MARK}{}", problem.to_json()))
}

/// Makes the exception of a value that JavaScript should not have given.
pub(crate) fn bad(error: impl std::fmt::Display) -> Error {
    raised(Problem::wrong_type(error.to_string()))
}

/// Waits for work. A panic of it is an exception.
pub(crate) async fn contained<T>(work: impl Future<Output = napi::Result<T>>) -> napi::Result<T> {
    let done = AssertUnwindSafe(work).catch_unwind().await;
    done.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("it panicked");
        Err(raised(Problem::new(
            "GadgetryError",
            format!("gadgetry has a bug: {text}"),
        )))
    })
}
