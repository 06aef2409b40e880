//! Values kept between requests, each for one owner, within a limit on their bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Bytes that an entry takes in addition to its own, in the maps that lead to it.
const ENTRY: usize = 512;

/// Bytes that a JSON value takes in addition to its text.
const NODE: usize = 96;

/// Divisor of a memory: the part that one owner can fill, so that it cannot evict everything of the others.
const SHARE: usize = 4;

/// Divisor of a memory: the part that a single value can fill.
const LARGEST: usize = 16;

/// The client that owns data that a gateway remembers: no other client can read it, even with its id.
///
/// With keys, the key is the owner. Without keys, nothing identifies a client, so the owner is the conversation: to refer to
/// data, a client must know its random id and the beginning of the conversation.
///
/// ```
/// use gadgetry_gateway::Owner;
/// assert_ne!(Owner::of("key", b"a"), Owner::of("conversation", b"a"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner([u8; 32]);

impl Owner {
    /// Returns the owner of this kind that these bytes identify.
    pub fn of(kind: &str, identity: &[u8]) -> Self {
        let hash = Sha256::new()
            .chain_update((kind.len() as u64).to_le_bytes())
            .chain_update(kind)
            .chain_update(identity);
        Self(hash.finalize().into())
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Returns the maximum number of values that a JSON text can have.
pub(crate) fn most_values(text: &str) -> usize {
    1 + text.bytes().filter(|it| b",[{".contains(it)).count()
}

/// Values by owner and id. At the limit, the least recently used ones are removed first.
#[derive(Debug)]
pub(crate) struct Memory<K, V> {
    limit: usize,
    bytes: usize,
    entries: HashMap<(Owner, K), KeptValue<V>>,
    /// All entries by their last use.
    order: BTreeMap<u64, (Owner, K)>,
    shares: HashMap<Owner, OwnerShare>,
    /// Counts uses.
    uses: u64,
}

#[derive(Debug)]
struct KeptValue<V> {
    value: V,
    bytes: usize,
    used: u64,
}

/// Entries of one owner.
#[derive(Debug, Default)]
struct OwnerShare {
    bytes: usize,
    order: BTreeSet<u64>,
}

impl<K: Clone + Eq + Hash, V> Memory<K, V> {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            bytes: 0,
            entries: HashMap::new(),
            order: BTreeMap::new(),
            shares: HashMap::new(),
            uses: 0,
        }
    }

    /// Returns the value that `owner` has kept as `id`.
    pub(crate) fn get(&mut self, owner: Owner, id: K) -> Option<&V> {
        let key = (owner, id);
        let entry = self.entries.get_mut(&key)?;
        self.uses += 1;
        let before = std::mem::replace(&mut entry.used, self.uses);
        self.order.remove(&before);
        self.order.insert(self.uses, key);
        let share = self.shares.entry(owner).or_default();
        share.order.remove(&before);
        share.order.insert(self.uses);
        Some(&entry.value)
    }

    /// Keeps a value of this size. A value that would fill too much of the memory is not kept.
    pub(crate) fn keep(&mut self, owner: Owner, id: K, value: V, bytes: usize) {
        let bytes = bytes.saturating_add(ENTRY);
        if bytes > self.limit / LARGEST {
            return;
        }
        let key = (owner, id);
        self.remove(&key);
        self.uses += 1;
        let used = self.uses;
        self.order.insert(used, key.clone());
        self.entries.insert(key, KeptValue { value, bytes, used });
        let share = self.shares.entry(owner).or_default();
        share.bytes += bytes;
        share.order.insert(used);
        self.bytes += bytes;
        while self.share(owner) > self.limit / SHARE {
            let oldest = self.shares.get(&owner).and_then(|it| it.order.first());
            self.forget(oldest.copied());
        }
        while self.bytes > self.limit {
            let oldest = self.order.first_key_value().map(|(used, _)| *used);
            self.forget(oldest);
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn share(&self, owner: Owner) -> usize {
        self.shares.get(&owner).map_or(0, |share| share.bytes)
    }

    fn forget(&mut self, used: Option<u64>) {
        if let Some(key) = used.and_then(|used| self.order.get(&used)).cloned() {
            self.remove(&key);
        }
    }

    fn remove(&mut self, key: &(Owner, K)) {
        let Some(entry) = self.entries.remove(key) else {
            return;
        };
        self.order.remove(&entry.used);
        self.bytes -= entry.bytes;
        if let Some(share) = self.shares.get_mut(&key.0) {
            share.bytes -= entry.bytes;
            share.order.remove(&entry.used);
            if share.order.is_empty() {
                self.shares.remove(&key.0);
            }
        }
    }
}

/// An estimate of the bytes that a JSON value takes.
pub(crate) fn weight(value: &Value) -> usize {
    NODE + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, it)| NODE + name.len() + weight(it));
            fields.sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{ENTRY, Memory, Owner};

    const LIMIT: usize = 64 * ENTRY;

    fn owner(name: &str) -> Owner {
        Owner::of("key", name.as_bytes())
    }

    /// Keeps `(owner, id, bytes)` in order; then these ids of `a` are there.
    fn check(kept: &[(&str, u32, usize)], there: &[u32]) {
        let mut memory = Memory::new(LIMIT);
        for (name, id, bytes) in kept {
            memory.keep(owner(name), *id, *id, *bytes);
            assert!(memory.bytes <= LIMIT, "{kept:?}");
        }
        let all = 0..1_000;
        let found: Vec<u32> = all
            .filter(|id| memory.get(owner("a"), *id).is_some())
            .collect();
        assert_eq!(found, there, "{kept:?}");
        let bytes: usize = memory.entries.values().map(|entry| entry.bytes).sum();
        assert_eq!(memory.bytes, bytes, "{kept:?}");
        assert_eq!(memory.order.len(), memory.entries.len(), "{kept:?}");
    }

    #[test]
    fn values_have_one_owner_and_a_weight() {
        check(&[("a", 1, 0), ("b", 2, 0)], &[1]);
        check(&[("a", 1, 0), ("a", 1, 5)], &[1]);
        // A sixteenth of all is four entries.
        check(&[("a", 1, 3 * ENTRY), ("a", 2, 3 * ENTRY + 1)], &[1]);
        // A quarter of all is sixteen.
        let own: Vec<_> = (0..18).map(|id| ("a", id, 0)).collect();
        let last: Vec<u32> = (2..18).collect();
        check(&own, &last);
        let mut flood = own.clone();
        flood.extend((0..1_000).map(|id| ("b", id, 100)));
        check(&flood, &last);
    }

    #[test]
    fn what_is_used_stays() {
        let mut memory = Memory::new(LIMIT);
        for id in 0..100_u32 {
            memory.keep(owner("a"), id, id, 0);
            assert_eq!(memory.get(owner("a"), 0), Some(&0));
            assert_eq!(memory.get(owner("b"), 0), None);
        }
        assert_eq!(memory.get(owner("a"), 1), None);
    }
}
