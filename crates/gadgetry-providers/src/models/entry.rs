//! Models in a registry: known, or still a piece of the table in this crate.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use memchr::memmem;

use crate::models::spec::ModelSpec;

/// The beginning of each model in a table of ours, and nothing else: a quote inside of a string has a backslash before it.
const ID: &str = "{\"id\":\"";
const PROVIDER: &str = "\",\"provider\":\"";
/// The end of a table.
const END: &str = "]}";

/// A model. What finds it is known; the rest is read when it is first needed, because a program uses few of thousands.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    provider: String,
    /// The model in the table of this crate.
    written: &'static str,
    spec: OnceLock<ModelSpec>,
}

impl Entry {
    pub(super) fn provider(&self) -> &str {
        &self.provider
    }

    pub(super) fn spec(&self) -> &ModelSpec {
        self.spec.get_or_init(|| {
            let spec: Result<ModelSpec, _> = serde_json::from_str(self.written);
            // A test reads all of them.
            spec.expect("the table in the program is whole").settled()
        })
    }
}

impl From<ModelSpec> for Entry {
    fn from(spec: ModelSpec) -> Self {
        let spec = spec.settled();
        Self {
            provider: spec.provider.clone(),
            written: "",
            spec: OnceLock::from(spec),
        }
    }
}

/// The head of a table of ours without its models, and the models by their ids in lower case. They are not read yet.
pub(super) fn split(table: &'static str) -> (String, BTreeMap<String, Entry>) {
    let starts: Vec<usize> = memmem::find_iter(table.as_bytes(), ID).collect();
    let first = starts.first().copied().unwrap_or(table.len());
    let last = table.len().saturating_sub(END.len());
    // A comma is between two of them.
    let ends = starts.iter().skip(1).map(|next| next - 1).chain([last]);
    let written = starts.iter().zip(ends);
    let written = written.filter_map(|(start, end)| table.get(*start..end));
    let models = written.filter_map(|written| {
        let (id, rest) = written.strip_prefix(ID)?.split_once('"')?;
        let provider = rest.strip_prefix(&PROVIDER[1..])?.split('"').next()?;
        let entry = Entry {
            provider: provider.to_owned(),
            written,
            spec: OnceLock::new(),
        };
        Some((id.to_lowercase(), entry))
    });
    (table[..first].to_owned() + END, models.collect())
}
