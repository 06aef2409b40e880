//! The runtime of gadgetry.
pub use gadgetry_proto as proto;
