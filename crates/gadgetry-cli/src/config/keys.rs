//! The keys of a configuration file: the options of the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::form::{Form, Given, words_of};
use super::value::Item;
use crate::args;
use crate::error::Error;

/// The key that names a prompt instead of `system`.
pub(crate) const SYSTEM_PROMPT: &str = "system-prompt";
/// What it replaces.
pub(crate) const SYSTEM: &str = "system";
/// The one key that concerns every verb.
pub(crate) const DATA_DIR: &str = "data-dir";
/// Options that make sense for one invocation only.
const NOT_KEYS: [&str; 15] = [
    "approval",
    "audio",
    CONFIGURED_APPROVAL,
    CONFIGURED_MCP,
    "continue",
    "dangerously-without-sandbox",
    "dry-run",
    "force",
    "help",
    "image",
    "mcp",
    "session",
    "verbose",
    "version",
    "yes",
];
/// The option that has the rules of `[approvals]`.
pub(crate) const CONFIGURED_APPROVAL: &str = "configured-approval";
/// The option that has the names of the servers in `[mcp.servers]`.
pub(crate) const CONFIGURED_MCP: &str = "configured-mcp";

/// A verb that has a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConfigVerb {
    /// `gadgetry agent`.
    Agent,
    /// `gadgetry chat`.
    Chat,
    /// `gadgetry complete`.
    Complete,
    /// `gadgetry serve`.
    Serve,
}

impl ConfigVerb {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Agent, Self::Chat, Self::Complete, Self::Serve];

    /// The verb of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Its name on the command line, and of its table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Chat => "chat",
            Self::Complete => "complete",
            Self::Serve => "serve",
        }
    }

    /// The verb whose table concerns it as well, before its own.
    pub(crate) fn parent(self) -> Option<Self> {
        (self == Self::Chat).then_some(Self::Agent)
    }

    /// Whether keys outside of tables concern it. The options of `serve` have the same names and other meanings.
    pub(crate) fn has_shared_keys(self) -> bool {
        self != Self::Serve
    }
}

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
pub(crate) struct VerbKeys {
    command: Command,
    keys: BTreeMap<String, Key>,
    /// Pairs of options that cannot be used together.
    conflicts: BTreeSet<(String, String)>,
}

impl VerbKeys {
    fn of(root: &Command, verb: ConfigVerb) -> Self {
        let command = root.find_subcommand(verb.name());
        let command = command.cloned().unwrap_or_default();
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
        let typed =
            options.filter(|(_, id)| matches.value_source(id) == Some(ValueSource::CommandLine));
        typed.map(|(name, _)| name.to_owned()).collect()
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
    agent: VerbKeys,
    chat: VerbKeys,
    complete: VerbKeys,
    serve: VerbKeys,
}

impl Keys {
    /// Those of this version.
    pub(crate) fn new() -> Self {
        let root = args::command();
        let verbs = root
            .get_subcommands()
            .map(Command::get_name)
            .chain(["help"]);
        Self {
            verbs: verbs.map(str::to_owned).collect(),
            agent: VerbKeys::of(&root, ConfigVerb::Agent),
            chat: VerbKeys::of(&root, ConfigVerb::Chat),
            complete: VerbKeys::of(&root, ConfigVerb::Complete),
            serve: VerbKeys::of(&root, ConfigVerb::Serve),
        }
    }

    /// Whether the command line has a verb of this name.
    pub(crate) fn is_verb(&self, name: &str) -> bool {
        self.verbs.contains(name)
    }

    /// The keys of a verb.
    pub(crate) fn of(&self, verb: ConfigVerb) -> &VerbKeys {
        match verb {
            ConfigVerb::Agent => &self.agent,
            ConfigVerb::Chat => &self.chat,
            ConfigVerb::Complete => &self.complete,
            ConfigVerb::Serve => &self.serve,
        }
    }

    fn of_mut(&mut self, verb: ConfigVerb) -> &mut VerbKeys {
        match verb {
            ConfigVerb::Agent => &mut self.agent,
            ConfigVerb::Chat => &mut self.chat,
            ConfigVerb::Complete => &mut self.complete,
            ConfigVerb::Serve => &mut self.serve,
        }
    }

    /// The verbs that a key in the table of `verb`, or outside of tables, concerns.
    pub(crate) fn verbs(&self, table: Option<ConfigVerb>, name: &str) -> Vec<ConfigVerb> {
        let all = ConfigVerb::ALL.into_iter();
        let concerned = all.filter(|verb| match table {
            Some(table) => *verb == table,
            None => verb.has_shared_keys(),
        });
        let has = concerned.filter(|verb| self.of(*verb).get(name).is_some());
        has.collect()
    }

    /// The names of the keys in a table, or outside of tables.
    pub(crate) fn names(&self, table: Option<ConfigVerb>) -> BTreeSet<&str> {
        let all = ConfigVerb::ALL.into_iter();
        let concerned = all.filter(|verb| match table {
            Some(table) => *verb == table,
            None => verb.has_shared_keys(),
        });
        let names = concerned.flat_map(|verb| self.of(verb).iter());
        names.map(|(name, _)| name).collect()
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
        let mut verbs = verbs.iter();
        verbs.try_for_each(|verb| self.of_mut(*verb).check(name, given))
    }
}
