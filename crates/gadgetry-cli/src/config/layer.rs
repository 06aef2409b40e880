//! Keys that are set in one place, and how those of several places are combined.

use std::collections::BTreeMap;
use std::path::Path;

use gadgetry::proto::schema::closest;

use super::keys::Keys;
use super::value::Entry;
use super::verb::ConfigVerb;
use crate::error::Error;
use crate::options::{Origin, Setting, Settings, Source};

/// The keys that are set in one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    /// Settings outside of tables.
    pub(crate) shared: Settings,
    /// Settings in the tables of verbs.
    pub(crate) verbs: BTreeMap<ConfigVerb, Settings>,
}

impl Layer {
    /// The settings that concern a verb, merged with `weaker` ones.
    pub(crate) fn over(&self, weaker: Settings, verb: ConfigVerb, keys: &Keys) -> Settings {
        let options = keys.of(verb);
        let shared = Some(&self.shared).filter(|_| verb.has_shared_keys());
        let tables = verb.parent().into_iter().chain([verb]);
        let own = tables.filter_map(|verb| self.verbs.get(&verb));
        shared.into_iter().chain(own).fold(weaker, |weaker, table| {
            let concerned = |name: &str, _: &Setting| options.get(name).is_some();
            table.clone().only(concerned).merge(weaker, options)
        })
    }
}

/// Reads the keys of tables in a file.
pub(crate) struct LayerReader<'a> {
    pub(crate) keys: &'a Keys,
    pub(crate) folder: &'a Path,
    pub(crate) origin: Origin,
}

impl LayerReader<'_> {
    /// Reads an entry that sets a key, or is the table of a verb. `others` are further names, for the hint about unknown ones.
    pub(crate) fn read(
        &self,
        layer: &mut Layer,
        entry: &Entry,
        others: &[&str],
    ) -> Result<(), Error> {
        let Some(verb) = ConfigVerb::named(&entry.key) else {
            let setting = self.setting(None, entry, others)?;
            return self.add(&mut layer.shared, None, &entry.key, setting);
        };
        if let Some(feature) = self.keys.missing_feature(verb) {
            return Err(entry.place.error(format_args!(
                "[{}] needs gadgetry built with `--features {feature}`",
                entry.key
            )));
        }
        layer.verbs.insert(verb, Settings::default());
        for entry in entry.item.table(&entry.key)? {
            self.read_of_verb(layer, verb, entry, &[])?;
        }
        Ok(())
    }

    /// Reads an entry that sets a key of a verb.
    pub(crate) fn read_of_verb(
        &self,
        layer: &mut Layer,
        verb: ConfigVerb,
        entry: &Entry,
        others: &[&str],
    ) -> Result<(), Error> {
        let setting = self.setting(Some(verb), entry, others)?;
        let settings = layer.verbs.entry(verb).or_default();
        self.add(settings, Some(verb), &entry.key, setting)
    }

    /// The value of a key, in the table of a verb or outside of tables.
    fn setting(
        &self,
        table: Option<ConfigVerb>,
        entry: &Entry,
        others: &[&str],
    ) -> Result<Setting, Error> {
        let name = &entry.key;
        let verbs = self.keys.verbs(table, name);
        if verbs.is_empty() {
            let mut names = self.keys.names(table);
            names.extend(others);
            if table.is_none() {
                names.extend(ConfigVerb::ALL.map(ConfigVerb::name));
            }
            return Err(unknown(entry, names));
        }
        let value = self.keys.read(&verbs, name, &entry.item, self.folder)?;
        Ok(Setting {
            value,
            written: entry.item.json(),
            source: Source::File(self.origin, entry.place.clone()),
        })
    }

    /// Adds a setting, unless it cannot be used together with one of the same table.
    fn add(
        &self,
        settings: &mut Settings,
        table: Option<ConfigVerb>,
        name: &str,
        setting: Setting,
    ) -> Result<(), Error> {
        let verbs = self.keys.verbs(table, name);
        let conflicting = settings.iter().find(|(other, _)| {
            let mut verbs = verbs.iter();
            verbs.any(|verb| self.keys.of(*verb).conflict(name, other))
        });
        if let Some((other, there)) = conflicting {
            return Err(setting.source.error(format_args!(
                "{name} cannot be used together with {other} ({})",
                there.source
            )));
        }
        settings.insert(name, setting);
        Ok(())
    }
}

/// Names of a table that a message lists, at most.
const LISTED: usize = 6;

/// The mistake that a key is unknown, with the nearest known one, or all of a few.
pub(crate) fn unknown<'a>(entry: &Entry, names: impl IntoIterator<Item = &'a str>) -> Error {
    let names: Vec<&str> = names.into_iter().collect();
    let hint = match closest(&entry.key, names.iter().copied()).first() {
        Some(near) => format!("; did you mean {near}?"),
        None if entry.key == "api-key" => {
            "; keys are read from variables: api-key-env names one".to_owned()
        }
        None if names.len() <= LISTED => format!("; the keys are {}", names.join(", ")),
        None => "; the keys are the options that `gadgetry agent --help` lists".to_owned(),
    };
    entry
        .place
        .error(format_args!("unknown key {}{hint}", entry.key))
}
