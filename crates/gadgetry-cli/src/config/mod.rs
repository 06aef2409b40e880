//! Configuration: keys in files and in the environment become options of the command line.
//!
//! A key has the name of the option that it sets, so its value is checked by the code that checks the option. `words` adds
//! the keys of a verb to what was typed, and from there on nothing knows whether an option was typed or configured.
//!
//! | module | what it does |
//! |---|---|
//! | `value` | TOML values with positions |
//! | `verb`, `form`, `keys` | the verbs; what options accept; the keys of each verb, from the definitions of its options |
//! | `server` | options that may hold the key of a server stay with that server |
//! | `layer`, `tables`, `file` | settings of one place; tables that set no option; a whole file |
//! | `environment`, `profiles`, `prompts` | variables; what profiles inherit; templates |
//! | `trust`, `project`, `redact` | consent to `./gadgetry.toml`; values without keys |
//! | `models` | how a model calls gadgets best: read, found by name, written to the user's file |
//! | `remember`, `add_servers`, `end_of_file` | rules and MCP servers that are written to the user's file; where new tables go |
//! | `switch` | another profile for a conversation in progress |
//! | `words`, `custom` | from the configuration to words of the command line; custom commands |

#[cfg(feature = "mcp")]
mod add_servers;
mod custom;
mod decisions;
mod end_of_file;
mod environment;
mod file;
mod form;
mod keys;
mod layer;
mod models;
mod profiles;
mod project;
mod prompts;
mod redact;
mod remember;
mod rewrite;
mod server;
#[cfg(feature = "chat")]
mod switch;
mod tables;
mod trust;
mod value;
mod verb;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fmt};

use form::Given;
use gadgetry_files as files;
use serde_json::Value as Json;

use crate::args::ConfigArgs;
use crate::data_dir;
use crate::error::Error;
use crate::input::unreadable;
use crate::printer::Printer;

#[cfg(feature = "mcp")]
pub(crate) use add_servers::{NewServer, add_servers, is_open_to_others};
pub(crate) use custom::with_commands;
#[cfg(feature = "mcp")]
pub(crate) use decisions::{Decided, Decisions};
pub(crate) use file::{Choice, ConfigFile, CustomCommand};
pub(crate) use keys::{
    CONFIGURED_APPROVAL, CONFIGURED_MCP, CONFIGURED_SKILLS, Keys, SYSTEM, SYSTEM_PROMPT,
};
pub(crate) use layer::{Layer, Origin, Setting, Settings, Source};
pub(crate) use models::{
    Constrain, ModelMarkers, ModelSettings, ModelTables, ModelTools, save_model,
};
pub(crate) use profiles::Profiles;
pub(crate) use project::{Asking, NAME as PROJECT_FILE, Project, QUESTION, Status};
pub(crate) use prompts::Prompts;
pub(crate) use redact::{server as redact_server, setting as redact};
pub(crate) use remember::{Approved, remember};
pub(crate) use server::for_server;
#[cfg(feature = "chat")]
pub(crate) use server::{is_elsewhere, is_of_server};
pub(crate) use tables::{ApprovalRule, McpServer};
pub(crate) use value::Place;
pub(crate) use verb::ConfigVerb;
pub(crate) use words::{command_line, verb_index};

/// The name of the user's file, in the configuration folder.
pub(crate) const USER_FILE: &str = "config.toml";
const CONFIG_VARIABLE: &str = "GADGETRY_CONFIG";
const PROFILE: &str = "profile";

/// The configuration of one invocation.
#[derive(Default)]
pub(crate) struct Config {
    /// The user's file, if files are read and there is a home directory.
    pub(crate) user_path: Option<PathBuf>,
    /// Whether it exists.
    pub(crate) has_user_file: bool,
    /// How the project's file is used.
    pub(crate) project: Status,
    /// The profile in use.
    pub(crate) profile: Option<Choice>,
    pub(crate) profiles: Profiles,
    pub(crate) prompts: Prompts,
    /// Custom commands by name. The project's replace the user's, here and in `servers`.
    pub(crate) commands: BTreeMap<String, CustomCommand>,
    /// The rules of approvals in their order: the user's before the project's.
    pub(crate) approvals: Vec<ApprovalRule>,
    /// MCP servers by name.
    pub(crate) servers: BTreeMap<String, McpServer>,
    /// How single models call gadgets. The project's tables replace the user's of the same name.
    pub(crate) models: ModelTables,
    /// Folders with skills, the user's before the project's.
    pub(crate) skills: Vec<(PathBuf, Place)>,
    /// The names of the options that were typed, and so have precedence.
    pub(crate) typed: BTreeSet<String>,
    user: Layer,
    in_project: Layer,
    variables: Layer,
}

/// Values may be keys.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").finish_non_exhaustive()
    }
}

impl Config {
    /// Reads the files and the environment.
    pub(crate) fn load(
        args: &ConfigArgs,
        keys: &mut Keys,
        asking: Asking,
        printer: &mut Printer,
    ) -> Result<Self, Error> {
        let mut config = Self {
            variables: environment::layer(keys)?,
            ..Self::default()
        };
        if args.no_config {
            return Ok(config);
        }
        let mut files = Vec::new();
        let (path, is_required) = user_path(args);
        if let Some(path) = &path
            && let Some(file) = read(path, is_required, keys)?
        {
            config.user = file.layer.clone();
            config.has_user_file = true;
            files.push(file);
        }
        config.user_path = path;
        config.project = Status::Absent;
        if let Some(project) = Project::find()? {
            let (file, status) = project.consented(keys, asking, printer)?;
            config.project = status;
            if let Some(file) = file {
                config.in_project = file.layer.clone();
                files.push(file);
            }
        }
        config.combine(files)?;
        config.profile = config.chosen_profile(args)?;
        Ok(config)
    }

    /// Combines the tables of the files, the weakest first, and checks what names something else.
    fn combine(&mut self, files: Vec<ConfigFile>) -> Result<(), Error> {
        self.profiles = Profiles::of(&files);
        self.profiles.check()?;
        for file in &files {
            self.prompts.0.extend(file.prompts.clone());
        }
        for file in &files {
            for (name, source) in file.used_prompts() {
                let known = self.prompts.check(&name);
                known.map_err(|problem| source.error(problem))?;
            }
            let used = file.commands.values().filter_map(|it| it.profile.as_ref());
            for (name, source) in used.chain(&file.profile) {
                self.profiles.layer(name, source)?;
            }
        }
        self.prompts.check_all()?;
        for file in files {
            for (name, command) in &file.commands {
                if let Some(prompt) = &command.prompt {
                    let name = format!("commands.{name}");
                    self.prompts.check_template(&name, prompt.clone())?;
                }
            }
            self.commands.extend(file.commands);
            self.approvals.extend(file.approvals);
            self.skills.extend(file.skills);
            self.models.extend(file.models);
            let servers = file.servers.into_iter();
            self.servers.extend(servers.map(|it| (it.name.clone(), it)));
            self.profile = file.profile.or(self.profile.take());
        }
        Ok(())
    }

    /// The profile of the command line, the environment, or else of the files.
    fn chosen_profile(&mut self, args: &ConfigArgs) -> Result<Option<Choice>, Error> {
        let variable = environment::value(PROFILE)?;
        let chosen = if let Some(name) = &args.profile {
            Some((name.clone(), Source::Flag))
        } else if let Some(name) = variable {
            Some((name, Source::Variable(environment::variable(PROFILE))))
        } else {
            self.profile.take()
        };
        if let Some((name, source)) = &chosen {
            self.profiles.layer(name, source)?;
        }
        Ok(chosen)
    }

    /// The settings of a verb, or of a custom command that runs it, by precedence.
    pub(crate) fn settings(
        &self,
        verb: ConfigVerb,
        command: Option<&CustomCommand>,
        keys: &Keys,
    ) -> Result<Settings, Error> {
        let profile = self.profile_of(command);
        self.settings_with(verb, command, profile.as_ref(), keys)
    }

    /// The same, with this profile.
    fn settings_with(
        &self,
        verb: ConfigVerb,
        command: Option<&CustomCommand>,
        profile: Option<&Choice>,
        keys: &Keys,
    ) -> Result<Settings, Error> {
        let keys = keys.of(verb);
        let mut settings = Settings::new();
        self.user.add_to(&mut settings, verb, keys);
        if let Some((name, source)) = profile {
            let profile = self.profiles.layer(name, source)?;
            profile.add_to(&mut settings, verb, keys);
        }
        self.in_project.add_to(&mut settings, verb, keys);
        if let Some(command) = command {
            let layer = Layer {
                verbs: [(verb, command.settings.clone())].into(),
                ..Layer::default()
            };
            layer.add_to(&mut settings, verb, keys);
        }
        self.variables.add_to(&mut settings, verb, keys);
        if verb.has_agent() {
            let rules = self.approvals.iter();
            let rules = rules.map(|it| (it.rule.to_string(), &it.place));
            let folders = self.skills.iter();
            let folders = folders.map(|(it, place)| (it.display().to_string(), place));
            let servers = self.servers.values().filter(|it| it.is_enabled());
            let servers = servers.map(|it| (it.name.clone(), &it.item.place));
            settings.extend(of_table(CONFIGURED_APPROVAL, rules));
            settings.extend(of_table(CONFIGURED_SKILLS, folders));
            settings.extend(of_table(CONFIGURED_MCP, servers));
        }
        Ok(settings)
    }

    /// The setting of a key that concerns every verb.
    pub(crate) fn everywhere(&self, name: &str) -> Result<Option<Setting>, Error> {
        let profile = self.profile.as_ref();
        let profile = profile.map(|(name, source)| self.profiles.layer(name, source));
        let profile = profile.transpose()?.unwrap_or_default();
        let layers = [&self.variables, &self.in_project, &profile, &self.user];
        let mut found = layers.into_iter().filter_map(|it| it.shared.get(name));
        Ok(found.next().cloned())
    }

    /// The profile of a command, unless another one is chosen for this invocation.
    fn profile_of(&self, command: Option<&CustomCommand>) -> Option<Choice> {
        let is_of_invocation = self
            .profile
            .as_ref()
            .is_some_and(|(_, source)| matches!(source, Source::Flag | Source::Variable(_)));
        let own = command.and_then(|command| command.profile.clone());
        own.filter(|_| !is_of_invocation)
            .or_else(|| self.profile.clone())
    }
}

/// The setting of an option that has what a table lists.
fn of_table<'a>(
    option: &str,
    entries: impl Iterator<Item = (String, &'a Place)>,
) -> Option<(String, Setting)> {
    let (values, places): (Vec<String>, Vec<&Place>) = entries.unzip();
    let setting = Setting {
        given: Given::Values(values),
        written: Json::Null,
        source: Source::File(Origin::User, (*places.first()?).clone()),
    };
    Some((option.to_owned(), setting))
}

/// The user's file, and whether it must exist.
fn user_path(args: &ConfigArgs) -> (Option<PathBuf>, bool) {
    let variable = || env::var_os(CONFIG_VARIABLE).filter(|it| !it.is_empty());
    match args
        .config
        .clone()
        .or_else(|| variable().map(PathBuf::from))
    {
        Some(path) => (Some(path), true),
        None => (data_dir::config().map(|it| it.join(USER_FILE)), false),
    }
}

/// Reads the user's file. Relative paths in it are resolved from its folder.
pub(crate) fn read(
    path: &Path,
    is_required: bool,
    keys: &mut Keys,
) -> Result<Option<ConfigFile>, Error> {
    use std::io::ErrorKind::{NotADirectory, NotFound};

    let text = match files::text(path, file::LIMIT) {
        Ok(text) => text,
        Err(error) if !is_required && matches!(error.kind(), NotFound | NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(path.display(), &error)),
    };
    let name: Arc<str> = path.display().to_string().into();
    let folder = path.parent().unwrap_or(Path::new(""));
    file::parse(&text, &name, folder, Origin::User, keys).map(Some)
}
