//! Causes of errors of libraries.

use std::error::Error;

/// The innermost cause of an error. The outer ones name the layers of a library, not what happened.
pub(super) fn cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
