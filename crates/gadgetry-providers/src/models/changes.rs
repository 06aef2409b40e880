//! Differences between two tables of models.

use std::collections::BTreeMap;
use std::fmt;

use crate::models::ModelRegistry;
use crate::models::spec::ModelSpec;
use crate::models::table::{Provenance, TableError};

/// The differences of two registries, by id, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changes {
    /// Models that are new.
    pub added: Vec<String>,
    /// Models that are gone.
    pub removed: Vec<String>,
    /// Models of which something else is known now.
    pub changed: Vec<String>,
    /// Changed models whose price differs.
    pub repriced: Vec<String>,
}

impl Changes {
    /// Returns whether the registries are the same.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    fn between(old: &ModelRegistry, new: &ModelRegistry) -> Self {
        let old: BTreeMap<&str, &ModelSpec> = old.keyed().collect();
        let mut changes = Self::default();
        let mut kept = 0;
        for (key, spec) in new.keyed() {
            let id = spec.id.clone();
            match old.get(key) {
                None => changes.added.push(id),
                Some(before) => {
                    kept += 1;
                    if before.price != spec.price || before.batch_price != spec.batch_price {
                        changes.repriced.push(id.clone());
                    }
                    if *before != spec {
                        changes.changed.push(id);
                    }
                }
            }
        }
        if kept < old.len() {
            let gone = old.iter().filter(|(key, _)| new.exact(key).is_none());
            changes.removed = gone.map(|(_, spec)| spec.id.clone()).collect();
        }
        changes
    }
}

impl ModelRegistry {
    /// Replaces all models by those of a table, and returns what changed. Aliases stay; on failure nothing changes.
    ///
    /// `table` is what a file or a server gave, in a form that [`from_json`](Self::from_json) reads. `provenance` is kept if
    /// the table does not tell its own.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    ///
    /// ```
    /// use gadgetry::models::{ModelRegistry, Provenance};
    /// let table = br#"{"acme/large": {"mode": "chat", "litellm_provider": "acme", "max_input_tokens": 8000}}"#;
    /// let mut models = ModelRegistry::empty();
    /// let changes = models.update(table, Provenance { source: "prices.json".into(), ..Provenance::default() })?;
    /// assert_eq!(changes.to_string(), "1 new, 0 gone, 0 changed (0 prices)");
    /// # Ok::<(), gadgetry::models::TableError>(())
    /// ```
    pub fn update(&mut self, table: &[u8], provenance: Provenance) -> Result<Changes, TableError> {
        let mut new = Self::from_json(table)?;
        let known = new.models.known_mut();
        if known.provenance.date.is_none() && known.provenance.version.is_empty() {
            known.provenance = provenance;
        }
        let changes = Changes::between(self, &new);
        self.models = new.models;
        Ok(changes)
    }
}

/// One line, like `12 new, 3 gone, 40 changed (7 prices)`.
impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [new, gone, changed, prices] = [
            self.added.len(),
            self.removed.len(),
            self.changed.len(),
            self.repriced.len(),
        ];
        write!(
            f,
            "{new} new, {gone} gone, {changed} changed ({prices} prices)"
        )
    }
}
