//! The options of a verb, from the definitions of its command line.

use std::collections::{BTreeMap, BTreeSet};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{Attributes, Kind, SYSTEM, SYSTEM_PROMPT, Value};

/// An option of a verb.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// The name among the arguments that were parsed.
    id: String,
    pub(crate) kind: Kind,
    pub(crate) attributes: Attributes,
    pub(crate) default: Option<String>,
}

/// The options of a verb by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    options: BTreeMap<String, Definition>,
    /// The arguments without names, with their defaults.
    positional: BTreeMap<String, Option<String>>,
    /// Pairs of options that cannot be used together.
    conflicts: BTreeSet<(String, String)>,
}

impl Definitions {
    /// Reads the options of a verb from its definition.
    pub(crate) fn of(command: &Command) -> Self {
        let mut all = Self::default();
        for argument in command.get_arguments() {
            if matches!(argument.get_action(), ArgAction::HelpLong) {
                continue;
            }
            let id = argument.get_id().to_string();
            let default = argument.get_default_values().first();
            let default = default.map(|it| it.to_string_lossy().into_owned());
            let Some(name) = argument.get_long() else {
                all.positional.insert(id, default);
                continue;
            };
            let others = command.get_arg_conflicts_with(argument).into_iter();
            for other in others.filter_map(Arg::get_long) {
                all.conflicts.insert((name.to_owned(), other.to_owned()));
            }
            let attributes = Attributes::of(name);
            let definition = Definition {
                id,
                kind: attributes.kind.unwrap_or_else(|| Kind::of(argument)),
                attributes,
                default,
            };
            all.options.insert(name.to_owned(), definition);
        }
        if let Some(system) = all.options.get(SYSTEM).cloned() {
            let names = (SYSTEM.to_owned(), SYSTEM_PROMPT.to_owned());
            all.options.insert(SYSTEM_PROMPT.to_owned(), system);
            all.conflicts.insert(names);
        }
        all
    }

    /// The option of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Definition> {
        self.options.get(name)
    }

    /// The default of an option, or of an argument without a name.
    pub(crate) fn default_of(&self, name: &str) -> Option<&str> {
        let option = self.options.get(name).map(|it| &it.default);
        option.or_else(|| self.positional.get(name))?.as_deref()
    }

    /// All options, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Definition)> {
        self.options.iter().map(|(name, it)| (name.as_str(), it))
    }

    /// Returns whether two options cannot be used together.
    pub(crate) fn conflict(&self, one: &str, other: &str) -> bool {
        let has = |one: &str, other: &str| {
            let pair = (one.to_owned(), other.to_owned());
            self.conflicts.contains(&pair)
        };
        has(one, other) || has(other, one)
    }

    /// Returns what was typed: options by name, and the arguments without names.
    pub(crate) fn typed(&self, matches: &ArgMatches) -> BTreeMap<String, Value> {
        let options = self
            .options
            .iter()
            .filter(|(name, _)| *name != SYSTEM_PROMPT);
        let options = options.map(|(name, it)| (name, &it.id, it.kind == Kind::Flag));
        let positional = self.positional.keys().map(|id| (id, id, false));
        let mut typed = BTreeMap::new();
        for (name, id, is_flag) in options.chain(positional) {
            // Not every verb of a group, or custom command, has all of them.
            let is_there = matches.try_contains_id(id).is_ok();
            if !is_there || matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            let texts = matches.get_raw(id).into_iter().flatten();
            let value = if is_flag {
                Value::Switch(true)
            } else {
                Value::Texts(texts.map(ToOwned::to_owned).collect())
            };
            typed.insert(name.clone(), value);
        }
        typed
    }
}
