//! Gadgets whose parameters are types.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod errors;
mod gadgets;
mod outcomes;
mod results;
mod schemas;
mod support;
mod unions;
mod validation;
