//! The Responses API: what is sent, and what of a reply goes back with the next request.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod kept;
mod replies;
mod requests;
