//! Models.

pub mod adapter;
