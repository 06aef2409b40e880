//! Random ids, and the secrets of prompts.

use std::sync::atomic::{AtomicU64, Ordering};

use rustls::crypto::ring;
use sha2::{Digest as _, Sha256};

/// The source of ids that no one can guess, whatever other ids they know.
///
/// Each id is the hash of a counter and a random key, so two are equal only by a collision of 128 bits.
#[derive(Debug)]
pub(super) struct Ids {
    key: [u8; 32],
    next: AtomicU64,
}

impl Ids {
    /// Makes a source with a new random key.
    ///
    /// # Panics
    ///
    /// If the system has no random numbers: ids that can be guessed would reveal replies.
    pub(super) fn new() -> Self {
        Self {
            key: random(),
            next: AtomicU64::new(0),
        }
    }

    /// Returns the next id.
    pub(super) fn next(&self) -> u128 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let hash = keyed(&self.key, "id", &number.to_le_bytes());
        let mut id = [0; 16];
        id.copy_from_slice(&hash[..16]);
        u128::from_le_bytes(id)
    }
}

/// Returns the hash of `data` with a secret. `kind` separates the purposes of hashes.
pub(super) fn keyed(secret: &[u8], kind: &str, data: &[u8]) -> [u8; 32] {
    // The inner hash has a fixed length, so nothing can be appended to what was hashed.
    let inner: [u8; 32] = Sha256::digest(data).into();
    let mut hash = Sha256::new();
    for part in [secret, kind.as_bytes(), &inner] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// Returns random bytes of the system.
///
/// # Panics
///
/// If the system has no random numbers.
pub(super) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let provider = ring::default_provider();
    let filled = provider.secure_random.fill(&mut bytes);
    filled.expect("the system has random numbers");
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Ids;

    #[test]
    fn ids_differ_by_about_half_of_their_bits() {
        let ids = Ids::new();
        let all: Vec<u128> = (0..1_000).map(|_| ids.next()).collect();
        let unique: HashSet<&u128> = all.iter().collect();
        assert_eq!(unique.len(), all.len());
        for pair in all.windows(3) {
            // A counter with a constant step has equal differences.
            assert_ne!(pair[1].wrapping_sub(pair[0]), pair[2].wrapping_sub(pair[1]));
            let bits = (pair[0] ^ pair[1]).count_ones();
            assert!((24..104).contains(&bits), "{bits}");
        }
        assert_ne!(Ids::new().next(), Ids::new().next());
    }
}
