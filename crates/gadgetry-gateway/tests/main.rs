//! The gateway, from the outside.
