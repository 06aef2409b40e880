//! What several tests of the engine use.
#![allow(
    unreachable_pub,
    reason = "benches and fuzz targets include some of it"
)]

#[cfg(feature = "engine")]
#[cfg(test)]
pub mod bfcl;
pub mod cut;
#[cfg(feature = "engine")]
pub mod gbnf;
pub mod generate;
pub mod joined;
pub mod naive;
#[cfg(feature = "engine")]
pub mod properties;
#[cfg(feature = "engine")]
pub mod sim;
pub mod stream;
#[cfg(feature = "engine")]
pub mod virtual_time;
