//! Keys that are set in one place, and how those of several places are combined.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use gadgetry::proto::schema::closest;
use serde_json::Value as Json;

use super::form::Given;
use super::keys::{Keys, VerbKeys};
use super::server;
use super::value::{Entry, Place};
use super::verb::ConfigVerb;
use crate::error::Error;

/// Where a setting is from, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The user's file.
    User,
    /// The profile in use.
    Profile,
    /// The project's file.
    Project,
    /// The custom command in use.
    Command,
}

impl Origin {
    /// Its name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Profile => "profile",
            Self::Project => "project",
            Self::Command => "command",
        }
    }
}

/// Where a value is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file.
    File(Origin, Place),
    /// A variable of the environment.
    Variable(String),
    /// The command line.
    Flag,
    /// The program.
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(Origin::Profile, place) => {
                write!(f, "{}:{} (profile)", place.file, place.line)
            }
            Self::File(_, place) => write!(f, "{}:{}", place.file, place.line),
            Self::Variable(name) => f.write_str(name),
            Self::Flag => f.write_str("command line"),
            Self::Default => f.write_str("default"),
        }
    }
}

impl Source {
    /// The mistake that something here is wrong.
    pub(crate) fn error(&self, problem: impl fmt::Display) -> Error {
        match self {
            Self::File(_, place) => place.error(problem),
            Self::Variable(name) => Error::at(name, problem),
            Self::Flag | Self::Default => Error::input(problem),
        }
    }
}

/// The value of a key.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) given: Given,
    /// The value as written.
    pub(crate) written: Json,
    pub(crate) source: Source,
}

/// Settings by key.
pub(crate) type Settings = BTreeMap<String, Setting>;

/// The keys that are set in one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    /// Those outside of tables.
    pub(crate) shared: Settings,
    /// Those in the tables of verbs.
    pub(crate) verbs: BTreeMap<ConfigVerb, Settings>,
}

impl Layer {
    /// Adds the settings that concern a verb to `settings`, which are weaker.
    pub(crate) fn add_to(&self, settings: &mut Settings, verb: ConfigVerb, keys: &VerbKeys) {
        let shared = Some(&self.shared).filter(|_| verb.has_shared_keys());
        let tables = verb.parent().into_iter().chain([verb]);
        let own = tables.filter_map(|verb| self.verbs.get(&verb));
        for table in shared.into_iter().chain(own) {
            let table = table.iter().filter(|(name, _)| keys.get(name).is_some());
            let table: Settings = table.map(|(name, it)| (name.clone(), it.clone())).collect();
            server::leave(settings, &table);
            for name in table.keys() {
                settings.retain(|other, _| !keys.conflict(name, other));
            }
            settings.extend(table);
        }
    }

    /// Adds the settings of a stronger layer.
    pub(crate) fn extend(&mut self, other: &Self) {
        server::leave(&mut self.shared, &other.shared);
        self.shared.extend(other.shared.clone());
        for (verb, settings) in &other.verbs {
            let own = self.verbs.entry(*verb).or_default();
            server::leave(own, settings);
            own.extend(settings.clone());
        }
    }
}

/// Reads the keys of tables in a file.
pub(crate) struct LayerReader<'a> {
    pub(crate) keys: &'a mut Keys,
    pub(crate) folder: &'a Path,
    pub(crate) origin: Origin,
}

impl LayerReader<'_> {
    /// Reads an entry that sets a key, or is the table of a verb. `others` are further names, for the hint about unknown ones.
    pub(crate) fn read(
        &mut self,
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
        layer.verbs.insert(verb, Settings::new());
        for entry in entry.item.table(&entry.key)? {
            self.read_of_verb(layer, verb, entry, &[])?;
        }
        Ok(())
    }

    /// Reads an entry that sets a key of a verb.
    pub(crate) fn read_of_verb(
        &mut self,
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
        &mut self,
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
        let given = self.keys.read(&verbs, name, &entry.item, self.folder)?;
        Ok(Setting {
            given,
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
        settings.insert(name.to_owned(), setting);
        Ok(())
    }
}

/// The mistake that a key is unknown, with the nearest known one.
pub(crate) fn unknown<'a>(entry: &Entry, names: impl IntoIterator<Item = &'a str>) -> Error {
    let hint = match closest(&entry.key, names).first() {
        Some(near) => format!("; did you mean {near}?"),
        None => "; the keys are the options that `gadgetry agent --help` lists".to_owned(),
    };
    entry
        .place
        .error(format_args!("unknown key {}{hint}", entry.key))
}
