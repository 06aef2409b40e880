//! Messages of caught panics.

use std::any::Any;

/// Formats a caught panic as "`who` panicked: message".
///
/// The message is left out if the payload is not a string: `std::panic::panic_any` may throw any type.
pub(crate) fn panic_text(who: &str, panic: &(dyn Any + Send)) -> String {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    match message {
        Some(message) => format!("{who} panicked: {message}"),
        None => format!("{who} panicked"),
    }
}
