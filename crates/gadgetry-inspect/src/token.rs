//! The secret in the address of a page.

use std::fmt::Write as _;

use rustls::crypto::ring;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// A secret of 128 bits that no one can guess.
#[derive(Clone)]
pub(crate) struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Panics
    ///
    /// If the system has no random numbers: an address that can be guessed would give runs away.
    pub(crate) fn new() -> Self {
        let mut bytes = [0; 16];
        let random = ring::default_provider().secure_random;
        random
            .fill(&mut bytes)
            .expect("the system has random numbers");
        let mut text = String::new();
        for byte in bytes {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// The text of it.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Compares in a time that says nothing.
    pub(crate) fn is(&self, other: &str) -> bool {
        let [own, other]: [[u8; 32]; 2] = [&self.0, other].map(|it| Sha256::digest(it).into());
        own.ct_eq(&other).into()
    }
}
