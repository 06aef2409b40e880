//! The keys of a configuration file: the options of the verbs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use clap::Command;

use super::form;
use super::value::Item;
use super::verb::ConfigVerb;
use crate::cli;
use crate::error::Error;
use crate::options::{Definitions, Kind, RESTATE, Setting, Settings, Source, Value};

/// The keys of all verbs of this version, found when one is needed: most commands need none.
pub(crate) struct Keys(LazyLock<Known>);

struct Known {
    /// The verbs of the command line.
    verbs: BTreeSet<String>,
    all: BTreeMap<ConfigVerb, Definitions>,
    /// The options of a verb that the program does not have.
    none: Definitions,
}

impl Known {
    fn of_this_version() -> Self {
        let root = cli::command();
        let verbs = root.get_subcommands().map(Command::get_name);
        let all = ConfigVerb::ALL.into_iter().filter_map(|verb| {
            let definition = verb.definition(&root)?;
            Some((verb, Definitions::of(definition)))
        });
        Self {
            all: all.collect(),
            verbs: verbs.chain(["help"]).map(str::to_owned).collect(),
            none: Definitions::default(),
        }
    }
}

impl Keys {
    /// Returns the keys of this version.
    pub(crate) fn new() -> Self {
        Self(LazyLock::new(Known::of_this_version))
    }

    /// Returns whether the command line has a verb of this name.
    pub(crate) fn is_verb(&self, name: &str) -> bool {
        self.0.verbs.contains(name)
    }

    /// The feature that the program lacks for a verb.
    pub(crate) fn missing_feature(&self, verb: ConfigVerb) -> Option<&'static str> {
        verb.feature().filter(|_| !self.is_verb(verb.name()))
    }

    /// The options of a verb.
    pub(crate) fn of(&self, verb: ConfigVerb) -> &Definitions {
        self.0.all.get(&verb).unwrap_or(&self.0.none)
    }

    /// Returns whether a file can set an option of a verb.
    fn is_key(&self, verb: ConfigVerb, name: &str) -> bool {
        // Elsewhere, it chooses the configuration.
        let is_own = name != "config" || verb == ConfigVerb::Serve;
        let option = self.of(verb).get(name);
        is_own && option.is_some_and(|it| it.attributes.is_key)
    }

    /// The keys of a verb, with their defaults.
    pub(crate) fn keys(&self, verb: ConfigVerb) -> impl Iterator<Item = (&str, Option<&str>)> {
        let all = self.of(verb).iter();
        let keys = all.filter(move |(name, _)| self.is_key(verb, name));
        keys.map(|(name, it)| (name, it.default.as_deref()))
    }

    /// Returns whether a key concerns a verb in the table of `table`, or outside of tables.
    fn concerns(&self, verb: ConfigVerb, table: Option<ConfigVerb>, name: &str) -> bool {
        let is_concerned = match (table, verb) {
            (Some(table), _) => verb == table,
            // Where these listen and how they are reached does not concern the others.
            (None, ConfigVerb::Worker | ConfigVerb::Submit) => {
                name == RESTATE || self.is_key(ConfigVerb::Agent, name)
            }
            (None, _) => verb.has_shared_keys(),
        };
        is_concerned && self.is_key(verb, name)
    }

    /// The verbs that a key in the table of `verb`, or outside of tables, concerns.
    pub(crate) fn verbs(&self, table: Option<ConfigVerb>, name: &str) -> Vec<ConfigVerb> {
        let all = ConfigVerb::ALL.into_iter();
        all.filter(|verb| self.concerns(*verb, table, name))
            .collect()
    }

    /// The names of the keys in a table, or outside of tables.
    pub(crate) fn names(&self, table: Option<ConfigVerb>) -> BTreeSet<&str> {
        let all = ConfigVerb::ALL.into_iter();
        let names = all.flat_map(|verb| self.of(verb).iter().map(move |(name, _)| (verb, name)));
        let concerned = names.filter(|(verb, name)| self.concerns(*verb, table, name));
        concerned.map(|(_, name)| name).collect()
    }

    fn kind(&self, verbs: &[ConfigVerb], name: &str) -> Kind {
        let found = verbs.iter().find_map(|verb| self.of(*verb).get(name));
        found.map_or(Kind::Text, |it| it.kind)
    }

    /// The value that an item gives to a key. `folder` is what relative paths are resolved from.
    pub(crate) fn read(
        &self,
        verbs: &[ConfigVerb],
        name: &str,
        item: &Item,
        folder: &Path,
    ) -> Result<Value, Error> {
        let value = form::read(self.kind(verbs, name), name, item, folder)?;
        let checked = self.check(verbs, name, &value);
        checked.map_err(|problem| item.place.error(problem))?;
        Ok(value)
    }

    /// The value that a text of the environment gives to a key; `None` for keys that take lists.
    pub(crate) fn read_text(
        &self,
        verbs: &[ConfigVerb],
        name: &str,
        text: &str,
    ) -> Result<Option<Value>, String> {
        let value = form::read_text(self.kind(verbs, name), text)?;
        if let Some(value) = &value {
            self.check(verbs, name, value)?;
        }
        Ok(value)
    }

    /// Checks a value as the command line does.
    fn check(&self, verbs: &[ConfigVerb], name: &str, value: &Value) -> Result<(), String> {
        let setting = Setting::new(value.clone(), Source::Default);
        let settings = Settings::from_iter([(name.to_owned(), setting)]);
        let checked = verbs
            .iter()
            .map(|verb| verb.check(&settings, self.of(*verb)));
        checked.collect()
    }
}
