//! Schemas of the parameters of gadgets.

use std::collections::BTreeMap;
use std::path::Path;

use gadgetry::proto::schema::Schema;
use gadgetry_files as files;
use serde_json::Value;

use crate::error::Error;
use crate::input::without_bom;

/// Schemas by gadget.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schemas {
    /// Schemas of single gadgets, by name in lower case.
    by_name: BTreeMap<String, Schema>,
    /// Schema of all others.
    every: Option<Schema>,
}

impl Schemas {
    /// Compiles them. `Err` names the invalid one, and the reason.
    pub(crate) fn new(
        every: Option<&Value>,
        by_name: Option<&BTreeMap<String, Value>>,
    ) -> Result<Self, String> {
        let every = every.cloned().map(Schema::new).transpose();
        let mut schemas = Self {
            by_name: BTreeMap::new(),
            every: every.map_err(|error| format!("schema: {error}"))?,
        };
        for (name, schema) in by_name.into_iter().flatten() {
            let compiled = Schema::new(schema.clone());
            let schema = compiled.map_err(|error| format!("the schema of {name}: {error}"))?;
            if schemas
                .by_name
                .insert(name.to_lowercase(), schema)
                .is_some()
            {
                return Err(format!("there are two schemas of {name}"));
            }
        }
        Ok(schemas)
    }

    /// The schema of a gadget, in whatever case its name is written.
    pub(crate) fn of(&self, gadget: &str) -> Option<&Schema> {
        if self.by_name.is_empty() {
            return self.every.as_ref();
        }
        self.by_name
            .get(&gadget.to_lowercase())
            .or(self.every.as_ref())
    }
}

/// Bytes of a schema.
const LIMIT: u64 = 16 << 20;

/// Reads the schema in a file, and makes sure that it can be used.
pub(crate) fn load(path: &Path) -> Result<Value, Error> {
    let bytes = files::read(path, LIMIT)
        .map_err(|error| Error::input(format_args!("cannot read {}: {error}", path.display())))?;
    let schema: Value = serde_json::from_slice(without_bom(&bytes))
        .map_err(|error| Error::at(path.display(), error))?;
    Schema::new(schema.clone()).map_err(|error| Error::at(path.display(), error))?;
    Ok(schema)
}
