//! The catalogue of models: prices, context windows and features.
//!
//! [`ModelRegistry::builtin`] is a table from LiteLLM (MIT), which is a part of this crate. Prices change; a newer table is read
//! with [`ModelRegistry::update`], and what a table does not know is added with [`ModelRegistry::register`]. Prices of service
//! classes (priority, flex), of audio, of searches and for cache writes of more than an hour are not in it.

mod changes;
mod date;
mod entry;
mod filter;
mod find;
mod litellm;
pub(crate) mod names;
mod spec;
mod table;
#[cfg(feature = "tokens")]
mod tokens;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use gadgetry_proto::usage::{Price, Usage};

#[cfg(feature = "http")]
use crate::model::ModelInfo;

pub use crate::model::Mode;
pub use changes::Changes;
pub use date::{Date, DateError};
pub use filter::ModelFilter;
pub use spec::{Feature, Features, ModelLimits, ModelSpec};
pub use table::{Provenance, TableError};
#[cfg(feature = "tokens")]
pub use tokens::count_tokens;

use entry::Entry;
use table::Table;

/// Known facts about models, by name. Cheap to clone.
///
/// ```
/// use gadgetry::models::ModelRegistry;
/// use gadgetry::Usage;
///
/// let models = ModelRegistry::builtin();
/// let usage = Usage::default().input_tokens(1_000_000).output_tokens(100_000);
/// assert_eq!(models.estimate("openai:gpt-4o", &usage), Some(3.5));
/// assert_eq!(models.limits("gpt-4o").and_then(|it| it.context_window), Some(128_000));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ModelRegistry {
    models: Models,
    /// Other names in lower case, and the ids that they stand for.
    aliases: BTreeMap<String, String>,
}

/// The models of a registry. `None` means those of the table in this crate, which is read when one of them is first needed: a program
/// may need none.
#[derive(Clone, Debug)]
struct Models(Option<Arc<Known>>);

#[derive(Clone, Debug, Default)]
struct Known {
    /// By id in lower case.
    by_id: BTreeMap<String, Entry>,
    provenance: Provenance,
}

static BUILTIN: LazyLock<Arc<Known>> = LazyLock::new(|| {
    // Tests read the same bytes.
    let known = Known::of_table(&TABLE);
    Arc::new(known.expect("the table in the program is whole"))
});

/// The table in this crate, unpacked.
static TABLE: LazyLock<String> = LazyLock::new(|| {
    let table = table::unpacked(include_bytes!("../../data/models.json.gz"));
    table.expect("the table in the program is whole")
});

impl Known {
    fn of_table(table: &'static str) -> Result<Self, TableError> {
        let (head, by_id) = entry::split(table);
        let provenance = Table::head(&head, by_id.len())?;
        Ok(Self { by_id, provenance })
    }
}

impl Models {
    fn known(&self) -> &Known {
        self.0.as_ref().unwrap_or(&BUILTIN)
    }

    fn known_mut(&mut self) -> &mut Known {
        Arc::make_mut(self.0.get_or_insert_with(|| Arc::clone(&BUILTIN)))
    }
}

impl Default for Models {
    fn default() -> Self {
        Self(Some(Arc::default()))
    }
}

impl ModelRegistry {
    /// The models that this version of the crate knows. The table is unpacked once, when it is first needed.
    pub fn builtin() -> Self {
        Self {
            models: Models(None),
            aliases: BTreeMap::new(),
        }
    }

    /// A registry without models.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Reads a table: LiteLLM's, or one of ours. It may be compressed with gzip.
    ///
    /// # Errors
    /// If it is neither, is cut off, or holds no model.
    pub fn from_json(reader: impl Read) -> Result<Self, TableError> {
        Table::read(reader).map(Self::from)
    }

    /// Reads a table from a file. It blocks.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json), and if the file cannot be read.
    pub fn load(path: &Path) -> Result<Self, TableError> {
        Self::from_json(gadgetry_files::open(path)?)
    }

    /// Writes all models to a file that [`load`](Self::load) reads, in place of what was there. It blocks.
    ///
    /// The file is written in the same folder, under a name that did not exist, and then renamed, so that a reader finds the
    /// old table or the new one. If that fails, it is removed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), TableError> {
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".{:016x}.new", random()));
        let partial = Path::new(&partial);
        let known = self.models.known();
        let models = known.by_id.values().map(|it| it.spec().clone()).collect();
        let table = Table::new(known.provenance.clone(), models);
        // Never an existing file, and never what a link leads to.
        let file = File::create_new(partial)?;
        let saved = table
            .write(file)
            .and_then(|()| Ok(fs::rename(partial, path)?));
        if saved.is_err() {
            let _ = fs::remove_file(partial);
        }
        saved
    }

    /// Returns the source of the table of models.
    pub fn provenance(&self) -> &Provenance {
        &self.models.known().provenance
    }

    /// Returns the number of models.
    pub fn len(&self) -> usize {
        self.models.known().by_id.len()
    }

    /// Returns whether the registry is empty.
    pub fn is_empty(&self) -> bool {
        self.models.known().by_id.is_empty()
    }

    /// Returns the token limits of a model; `None` if the model is unknown.
    pub fn limits(&self, name: &str) -> Option<ModelLimits> {
        self.get(name).map(|spec| ModelLimits {
            context_window: spec.context_window,
            max_output_tokens: spec.max_output_tokens,
        })
    }

    /// Returns the price of a model; `None` if the price or the model is unknown.
    pub fn price(&self, name: &str) -> Option<&Price> {
        self.get(name)?.price.as_ref()
    }

    /// Dollars for one call of the model; none if its price, or the model, is unknown.
    pub fn estimate(&self, name: &str, usage: &Usage) -> Option<f64> {
        self.get(name)?.estimate(usage)
    }

    /// The models that are meant, sorted by id.
    pub fn list<'a>(&'a self, filter: &'a ModelFilter) -> impl Iterator<Item = &'a ModelSpec> {
        self.specs().filter(|spec| filter.matches(spec))
    }

    /// The models with this feature, sorted by id.
    pub fn by_feature(&self, feature: Feature) -> impl Iterator<Item = &ModelSpec> {
        self.specs()
            .filter(move |spec| spec.features.contains(feature))
    }

    /// The cheapest model for a call with this many tokens, with its cost in US dollars.
    ///
    /// Only models whose price is known and whose limits, as far as they are known, allow such a call. Local models would
    /// always win, and are left out unless the filter asks for them. Of several with the same price, the first id.
    pub fn cheapest(
        &self,
        input_tokens: u64,
        output_tokens: u64,
        filter: &ModelFilter,
    ) -> Option<(&ModelSpec, f64)> {
        let usage = Usage::default()
            .input_tokens(input_tokens)
            .output_tokens(output_tokens);
        let local = filter.is_local == Some(true);
        self.specs()
            .filter(|spec| filter.matches(spec) && spec.is_local == local)
            .filter(|spec| spec.context_window.is_none_or(|most| input_tokens <= most))
            .filter(|spec| {
                spec.max_output_tokens
                    .is_none_or(|most| output_tokens <= most)
            })
            .filter_map(|spec| Some((spec, spec.estimate(&usage)?)))
            .min_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// Adds a model and gives back the one that it replaces.
    ///
    /// A price of nothing becomes an unknown one, unless the model is local.
    pub fn register(&mut self, spec: ModelSpec) -> Option<ModelSpec> {
        let by_id = &mut self.models.known_mut().by_id;
        let replaced = by_id.insert(spec.id.to_lowercase(), spec.into());
        let replaced = replaced.map(|it| it.spec().clone());
        if let Some(spec) = &replaced {
            tracing::info!(model = spec.id, "a model of the registry was replaced");
        }
        replaced
    }

    /// Takes the model with this id out and gives it back.
    pub fn unregister(&mut self, id: &str) -> Option<ModelSpec> {
        let key = id.trim().to_lowercase();
        self.exact(&key)?;
        let removed = self.models.known_mut().by_id.remove(&key)?;
        Some(removed.spec().clone())
    }

    /// Another name for a model: what [`get`](Self::get) understands, but for a further alias. An id of a model wins over it.
    pub fn alias(&mut self, alias: &str, name: &str) {
        let lower = |text: &str| text.trim().to_lowercase();
        self.aliases.insert(lower(alias), lower(name));
    }

    fn exact(&self, key: &str) -> Option<&ModelSpec> {
        self.entries().get(key).map(Entry::spec)
    }

    fn specs(&self) -> impl Iterator<Item = &ModelSpec> {
        self.entries().values().map(Entry::spec)
    }

    fn keyed(&self) -> impl Iterator<Item = (&str, &ModelSpec)> {
        let all = self.entries().iter();
        all.map(|(key, entry)| (key.as_str(), entry.spec()))
    }

    fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.models.known().by_id
    }
}

/// Returns the entry of the catalogue for a model at its provider's own address.
#[cfg(feature = "http")]
pub(crate) fn listed(provider: &str, model: &str) -> Option<ModelInfo> {
    let models = ModelRegistry::builtin();
    let spec = models.get(&format!("{provider}:{model}"))?;
    Some(spec.info())
}

/// An unpredictable number: the keys of hash maps are random.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

impl From<Table> for Known {
    fn from(table: Table) -> Self {
        let specs = table.models.into_iter();
        Self {
            by_id: specs
                .map(|spec| (spec.id.to_lowercase(), spec.into()))
                .collect(),
            provenance: table.provenance,
        }
    }
}

impl From<Table> for ModelRegistry {
    fn from(table: Table) -> Self {
        Self {
            models: Models(Some(Arc::new(Known::from(table)))),
            aliases: BTreeMap::new(),
        }
    }
}
