//! Clients that send what they must not.
