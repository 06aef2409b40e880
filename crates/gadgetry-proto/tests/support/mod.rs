//! What several tests of the engine use.
#![allow(
    unreachable_pub,
    reason = "benches and fuzz targets include some of it"
)]

#[cfg(test)]
pub mod bfcl;
pub mod cut;
pub mod gbnf;
pub mod generate;
pub mod joined;
pub mod naive;
pub mod properties;
pub mod sim;
pub mod stream;
pub mod virtual_time;
