//! Every API in both directions: what is encoded is decoded again, requests and replies alike.
//!
//! For requests the normal form is what this crate sends: encoding what was decoded from a body that was encoded gives the
//! same body, and the conversation that it was encoded from. For replies it is what a decoder gives: decoding what was
//! encoded gives the same deltas. What is not in normal form is in the tables of `normal`.

#![cfg(feature = "http")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails here")]

mod bodies;
mod frames;
mod normal;
mod replies;
mod requests;
mod stops;
mod streams;
mod tools;
