//! The keys of a configuration file: the options of the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::form::{Form, Given, words_of};
use super::value::Item;
use super::verb::ConfigVerb;
use crate::args;
use crate::error::Error;

/// The key that names a prompt instead of `system`.
pub(crate) const SYSTEM_PROMPT: &str = "system-prompt";
/// What it replaces.
pub(crate) const SYSTEM: &str = "system";
/// The key that concerns every verb with the option.
pub(crate) const DATA_DIR: &str = "data-dir";
/// The key that concerns the verbs that use Restate.
pub(crate) const RESTATE: &str = "restate";
/// Options that make sense for one invocation only.
const NOT_KEYS: [&str; 21] = [
    "approval",
    "audio",
    CONFIGURED_APPROVAL,
    CONFIGURED_MCP,
    CONFIGURED_SKILLS,
    "continue",
    "dangerously-without-sandbox",
    "dry-run",
    "follow",
    "force",
    "help",
    "image",
    "json",
    "mcp",
    "params",
    "run-id",
    "session",
    "skills",
    "verbose",
    "version",
    "yes",
];
/// The option that has the rules of `[approvals]`.
pub(crate) const CONFIGURED_APPROVAL: &str = "configured-approval";
/// The option that has the names of the servers in `[mcp.servers]`.
pub(crate) const CONFIGURED_MCP: &str = "configured-mcp";
/// The option that has the folders of `[skills]`.
pub(crate) const CONFIGURED_SKILLS: &str = "configured-skills";

/// A key of a verb.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    form: Form,
    /// Keys without which it has no meaning.
    needs: Option<&'static str>,
    /// The default values.
    pub(crate) default: Vec<String>,
}

/// The keys of a verb.
#[derive(Default)]
pub(crate) struct VerbKeys {
    command: Command,
    keys: BTreeMap<String, Key>,
    /// Pairs of options that cannot be used together.
    conflicts: BTreeSet<(String, String)>,
}

impl VerbKeys {
    fn of(root: &Command, verb: ConfigVerb) -> Self {
        let command = verb.definition(root).cloned().unwrap_or_default();
        let mut keys = BTreeMap::new();
        let mut conflicts = BTreeSet::new();
        for argument in command.get_arguments() {
            let Some(name) = argument.get_long() else {
                continue;
            };
            let others = command.get_arg_conflicts_with(argument).into_iter();
            for other in others.filter_map(Arg::get_long) {
                conflicts.insert((name.to_owned(), other.to_owned()));
            }
            if is_not_key(verb, name) {
                continue;
            }
            let default = argument.get_default_values().iter();
            let key = Key {
                form: Form::of(argument),
                // clap does not show what an option requires.
                needs: name.starts_with("upstream-").then_some("upstream"),
                default: default
                    .map(|it| it.to_string_lossy().into_owned())
                    .collect(),
            };
            keys.insert(name.to_owned(), key);
        }
        if let Some(system) = keys.get(SYSTEM).cloned() {
            conflicts.insert((SYSTEM.to_owned(), SYSTEM_PROMPT.to_owned()));
            keys.insert(SYSTEM_PROMPT.to_owned(), system);
        }
        Self {
            command,
            keys,
            conflicts,
        }
    }

    /// The key of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Key> {
        self.keys.get(name)
    }

    /// All keys, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Key)> {
        self.keys.iter().map(|(name, key)| (name.as_str(), key))
    }

    /// Whether two options cannot be used together.
    pub(crate) fn conflict(&self, one: &str, other: &str) -> bool {
        let has = |one: &str, other: &str| {
            let pair = (one.to_owned(), other.to_owned());
            self.conflicts.contains(&pair)
        };
        has(one, other) || has(other, one)
    }

    /// The options in the matches that were typed.
    pub(crate) fn typed(&self, matches: &ArgMatches) -> BTreeSet<String> {
        let arguments = self.command.get_arguments();
        let options = arguments.filter_map(|it| Some((it.get_long()?, it.get_id().as_str())));
        // A verb of `gadget` may lack what another one has.
        let known = options.filter(|(_, id)| matches.try_contains_id(id).is_ok());
        let typed =
            known.filter(|(_, id)| matches.value_source(id) == Some(ValueSource::CommandLine));
        typed.map(|(name, _)| name.to_owned()).collect()
    }

    /// The first value of an option that was typed.
    pub(crate) fn typed_value(&self, matches: &ArgMatches, name: &str) -> Option<String> {
        let mut arguments = self.command.get_arguments();
        let argument = arguments.find(|it| it.get_long() == Some(name))?;
        let id = argument.get_id().as_str();
        matches
            .try_contains_id(id)
            .ok()
            .filter(|is_there| *is_there)?;
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            return None;
        }
        let value = matches.get_raw(id)?.next()?;
        Some(value.to_string_lossy().into_owned())
    }

    /// The key without which this one has no meaning.
    pub(crate) fn needs(&self, name: &str) -> Option<&'static str> {
        self.keys.get(name).and_then(|key| key.needs)
    }

    /// Checks values as the command line does.
    pub(crate) fn check(&mut self, name: &str, given: &Given) -> Result<(), String> {
        if name == SYSTEM_PROMPT {
            return Ok(());
        }
        let words = [self.command.get_name().to_owned()];
        let words = words.into_iter().chain(words_of(name, given));
        let Err(error) = self.command.try_get_matches_from_mut(words) else {
            return Ok(());
        };
        // Whatever else is missing comes from elsewhere.
        let is_of_value = matches!(
            error.kind(),
            ErrorKind::InvalidValue
                | ErrorKind::ValueValidation
                | ErrorKind::NoEquals
                | ErrorKind::TooManyValues
                | ErrorKind::TooFewValues
                | ErrorKind::WrongNumberOfValues
        );
        if !is_of_value {
            return Ok(());
        }
        let option = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(option)) => format!("'{option}'"),
            _ => String::new(),
        };
        match Error::from(error) {
            Error::Input(message) if !option.is_empty() => Err(message.replace(&option, name)),
            Error::Input(message) | Error::Failed(message) | Error::Help(message) => Err(message),
            Error::Closed => Ok(()),
        }
    }
}

fn is_not_key(verb: ConfigVerb, name: &str) -> bool {
    let is_of_config = ["config", "no-config", "profile"].contains(&name);
    NOT_KEYS.contains(&name) || (is_of_config && verb != ConfigVerb::Serve)
}

/// The keys of all verbs.
pub(crate) struct Keys {
    /// The verbs of the command line.
    verbs: BTreeSet<String>,
    all: BTreeMap<ConfigVerb, VerbKeys>,
    /// Those of a verb that the program does not have.
    none: VerbKeys,
}

impl Keys {
    /// Those of this version.
    pub(crate) fn new() -> Self {
        let root = args::command();
        let verbs = root
            .get_subcommands()
            .map(Command::get_name)
            .chain(["help"]);
        let keys = ConfigVerb::ALL.map(|verb| (verb, VerbKeys::of(&root, verb)));
        Self {
            verbs: verbs.map(str::to_owned).collect(),
            all: keys.into(),
            none: VerbKeys::default(),
        }
    }

    /// Whether the command line has a verb of this name.
    pub(crate) fn is_verb(&self, name: &str) -> bool {
        self.verbs.contains(name)
    }

    /// The feature that the program lacks for a verb.
    pub(crate) fn missing_feature(&self, verb: ConfigVerb) -> Option<&'static str> {
        verb.feature().filter(|_| !self.is_verb(verb.name()))
    }

    /// The keys of a verb.
    pub(crate) fn of(&self, verb: ConfigVerb) -> &VerbKeys {
        self.all.get(&verb).unwrap_or(&self.none)
    }

    /// Whether a key concerns a verb in the table of `table`, or outside of tables.
    fn concerns(&self, verb: ConfigVerb, table: Option<ConfigVerb>, name: &str) -> bool {
        let is_concerned = match (table, verb) {
            (Some(table), _) => verb == table,
            // Where these listen and how they are reached does not concern the others.
            (None, ConfigVerb::Worker | ConfigVerb::Submit) => {
                name == RESTATE || self.of(ConfigVerb::Agent).get(name).is_some()
            }
            (None, _) => verb.has_shared_keys(),
        };
        is_concerned && self.of(verb).get(name).is_some()
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

    /// What an item sets a key to. `folder` is what relative paths are resolved from.
    pub(crate) fn read(
        &mut self,
        verbs: &[ConfigVerb],
        name: &str,
        item: &Item,
        folder: &Path,
    ) -> Result<Given, Error> {
        let key = verbs.iter().find_map(|verb| self.of(*verb).get(name));
        let form = key.map_or(Form::Text, |key| key.form);
        let given = form.read(name, item, folder)?;
        self.check(verbs, name, &given)
            .map_err(|problem| item.place.error(problem))?;
        Ok(given)
    }

    /// What a text of the environment sets a key to; `None` for keys that take lists.
    pub(crate) fn read_text(
        &mut self,
        verbs: &[ConfigVerb],
        name: &str,
        text: &str,
    ) -> Result<Option<Given>, String> {
        let key = verbs.iter().find_map(|verb| self.of(*verb).get(name));
        let given = key.map_or(Ok(None), |key| key.form.read_text(text))?;
        let Some(given) = given else {
            return Ok(None);
        };
        self.check(verbs, name, &given)?;
        Ok(Some(given))
    }

    fn check(&mut self, verbs: &[ConfigVerb], name: &str, given: &Given) -> Result<(), String> {
        for verb in verbs {
            if let Some(keys) = self.all.get_mut(verb) {
                keys.check(name, given)?;
            }
        }
        Ok(())
    }
}
