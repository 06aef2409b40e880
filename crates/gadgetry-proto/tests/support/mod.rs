//! What the tests of the reply scanner share: the oracle, replies to feed it, and ways to cut them.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "every test file uses its own part of it"
)]

pub mod cut;
pub mod generate;
pub mod joined;
pub mod naive;
