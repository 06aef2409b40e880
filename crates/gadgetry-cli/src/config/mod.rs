//! Configuration: files and variables give settings of options, each with its position.
//!
//! A key has the name of the option that it sets, and its value is read by the code that reads the option.
//!
//! | module | what it does |
//! |---|---|
//! | `value` | TOML values with positions |
//! | `verb`, `form`, `keys` | the verbs; what options accept in TOML; the keys of each verb |
//! | `layer`, `hooks`, `after_edit`, `tables`, `file` | settings of one place; commands about calls, and after changes of files; other tables that set no option; a whole file |
//! | `environment`, `profiles`, `prompts` | variables; what profiles inherit; templates |
//! | `trust`, `project`, `redact` | consent to `./gadgetry.toml`; values without keys |
//! | `models` | how a model calls gadgets best: read, found by name, written to the user's file |
//! | `remember`, `add_servers`, `end_of_file` | rules and MCP servers that are written to the user's file; where new tables go |

#[cfg(feature = "mcp")]
mod add_servers;
mod after_edit;
mod decisions;
mod end_of_file;
mod environment;
mod file;
mod form;
mod hooks;
mod keys;
mod layer;
mod models;
mod profiles;
mod project;
mod prompts;
mod redact;
mod remember;
mod rewrite;
mod tables;
mod trust;
mod value;
mod verb;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fmt};

use gadgetry_files as files;

use crate::cli::ConfigArgs;
use crate::data_dir;
use crate::error::Error;
use crate::input::unreadable;
use crate::options::{
    Attributes, CONFIGURED_APPROVAL, CONFIGURED_MCP, CONFIGURED_SKILLS, DATA_DIR, Origin, Place,
    SYSTEM, SYSTEM_PROMPT, Setting, Settings, Source, Value,
};
use crate::printer::Printer;

#[cfg(feature = "mcp")]
pub(crate) use add_servers::{NewServer, add_servers, is_open_to_others};
#[cfg(feature = "mcp")]
pub(crate) use decisions::{Decided, Decisions};
pub(crate) use file::{Choice, ConfigFile, CustomCommand};
pub(crate) use hooks::{HookCommand, HookEvent};
pub(crate) use keys::Keys;
pub(crate) use layer::Layer;
pub(crate) use models::{
    Constrain, ModelMarkers, ModelSettings, ModelTables, ModelTools, save_model,
};
pub(crate) use profiles::Profiles;
pub(crate) use project::{Asking, NAME as PROJECT_FILE, Project, QUESTION, Status};
pub(crate) use prompts::Prompts;
#[cfg(feature = "acp")]
pub(crate) use prompts::Template;
pub(crate) use redact::{server as redact_server, setting as redact};
pub(crate) use remember::{Approved, keep_model, remember};
pub(crate) use tables::Declared;
#[cfg(feature = "mcp")]
pub(crate) use tables::McpServer;
pub(crate) use trust::{Decision, Trust, digest};
pub(crate) use verb::ConfigVerb;

/// The name of the user's file, in the configuration folder.
pub(crate) const USER_FILE: &str = "config.toml";
const CONFIG_VARIABLE: &str = "GADGETRY_CONFIG";
const PROFILE: &str = "profile";

/// The configuration of one invocation.
#[derive(Default)]
pub(crate) struct Config {
    /// The user's file, if files are read and there is a home directory.
    pub(crate) user_path: Option<PathBuf>,
    /// Whether the user's file exists.
    pub(crate) has_user_file: bool,
    /// Status of the project's file.
    pub(crate) project: Status,
    /// The profile in use.
    pub(crate) profile: Option<Choice>,
    pub(crate) profiles: Profiles,
    pub(crate) prompts: Prompts,
    /// Custom commands by name. The project's replace the user's.
    pub(crate) commands: BTreeMap<String, CustomCommand>,
    /// Rules of approvals, hooks and MCP servers.
    pub(crate) declared: Arc<Declared>,
    /// Settings of single models. The project's tables replace the user's of the same name.
    pub(crate) models: ModelTables,
    /// Folders with skills, the user's before the project's.
    pub(crate) skills: Vec<(PathBuf, Place)>,
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
    /// Reads the files and the environment. The project is that of the working directory.
    pub(crate) fn load(
        args: &ConfigArgs,
        keys: &Keys,
        asking: Asking,
        printer: &Printer,
    ) -> Result<Self, Error> {
        if asking == Asking::Prompt {
            for (name, meant) in environment::misspelt(keys) {
                printer.progress(&format!(
                    "the variable {name} means nothing; did you mean {meant}?\n"
                ));
            }
        }
        Self::load_in(Path::new(""), args, keys, asking, printer)
    }

    /// The same with the project of another folder.
    pub(crate) fn load_in(
        folder: &Path,
        args: &ConfigArgs,
        keys: &Keys,
        asking: Asking,
        printer: &Printer,
    ) -> Result<Self, Error> {
        let mut config = Self {
            variables: environment::layer(keys)?,
            ..Self::default()
        };
        if args.no_config {
            config.find_data()?;
            return Ok(config);
        }
        let (mut files, mut paths) = (Vec::new(), Vec::new());
        let (path, is_required) = user_path(args);
        if let Some(path) = &path
            && let Some(file) = read(path, is_required, keys)?
        {
            config.user = file.layer.clone();
            config.has_user_file = true;
            files.push(file);
            paths.push(folder.join(path));
        }
        config.user_path = path;
        config.project = Status::Absent;
        if let Some(project) = Project::find(folder)? {
            let (file, status) = project.consented(keys, asking, printer)?;
            config.project = status;
            if let Some(file) = file {
                config.in_project = file.layer.clone();
                files.push(file);
                paths.push(folder.join(project::NAME));
            }
        }
        config.combine(files)?;
        let paths = paths.iter().map(std::path::absolute).filter_map(Result::ok);
        Arc::make_mut(&mut config.declared).files = paths.collect();
        config.profile = config.chosen_profile(args)?;
        config.find_data()?;
        Ok(config)
    }

    /// Takes note of the data folder that is configured.
    fn find_data(&mut self) -> Result<(), Error> {
        let setting = self.everywhere(DATA_DIR)?;
        let folder = setting.and_then(|it| it.value.texts().first().map(PathBuf::from));
        Arc::make_mut(&mut self.declared).data = folder;
        Ok(())
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
                self.profiles.layers(name, source)?;
            }
        }
        self.prompts.check_all()?;
        let mut declared = Declared::default();
        for file in files {
            for (name, command) in &file.commands {
                if let Some(prompt) = &command.prompt {
                    let name = format!("commands.{name}");
                    self.prompts.check_template(&name, prompt.clone())?;
                }
            }
            self.commands.extend(file.commands);
            declared.approvals.extend(file.approvals);
            // The user's come last: they see what a project's have rewritten.
            declared.hooks.splice(0..0, file.hooks);
            declared.after_edit.extend(file.after_edit);
            self.skills.extend(file.skills);
            self.models.extend(file.models);
            let servers = file.servers.into_iter();
            declared
                .servers
                .extend(servers.map(|it| (it.name.clone(), it)));
            self.profile = file.profile.or(self.profile.take());
        }
        self.declared = Arc::new(declared);
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
            self.profiles.layers(name, source)?;
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
    pub(crate) fn settings_with(
        &self,
        verb: ConfigVerb,
        command: Option<&CustomCommand>,
        profile: Option<&Choice>,
        keys: &Keys,
    ) -> Result<Settings, Error> {
        let mut layers = vec![self.user.clone()];
        if let Some((name, source)) = profile {
            layers.extend(self.profiles.layers(name, source)?);
        }
        layers.push(self.in_project.clone());
        layers.extend(command.map(|command| Layer {
            verbs: [(verb, command.settings.clone())].into(),
            ..Layer::default()
        }));
        layers.push(self.variables.clone());
        let layers = layers.iter();
        let settings = Settings::default();
        let mut settings = layers.fold(settings, |weaker, layer| layer.over(weaker, verb, keys));
        if verb.has_agent() {
            let rules = self.declared.approvals.iter();
            let rules = rules.map(|it| (it.rule.to_string(), &it.place));
            let folders = self.skills.iter();
            let folders = folders.map(|(it, place)| (it.display().to_string(), place));
            let servers = self.declared.servers.values().filter(|it| it.is_enabled());
            let servers = servers.map(|it| (it.name.clone(), &it.item.place));
            settings.extend(of_table(CONFIGURED_APPROVAL, rules));
            settings.extend(of_table(CONFIGURED_SKILLS, folders));
            settings.extend(of_table(CONFIGURED_MCP, servers));
        }
        Ok(settings)
    }

    /// The settings that apply to a session that is continued: of `all`, what it does not keep, and a profile that was chosen for it.
    pub(crate) fn of_continued(
        &self,
        all: Settings,
        verb: ConfigVerb,
        profile: Option<&Choice>,
        keys: &Keys,
    ) -> Result<Settings, Error> {
        let once = all.only(|name, _| Attributes::of(name).is_once);
        let Some((name, source)) = profile else {
            return Ok(once);
        };
        // Alone: keys of it that something stronger replaces would leave others of it with the server of the session.
        let layers = self.profiles.layers(name, source)?;
        let layers = layers.iter();
        let of_profile = layers.fold(Settings::default(), |weaker, layer| {
            layer.over(weaker, verb, keys)
        });
        Ok(once.merge(of_profile, keys.of(verb)))
    }

    /// The settings, in which the prompt that `system-prompt` names is the system prompt.
    pub(crate) fn with_prompt(&self, mut settings: Settings) -> Result<Settings, Error> {
        if let Some(named) = settings.remove(SYSTEM_PROMPT) {
            let name = named.value.first().unwrap_or_default();
            let system = self.prompts.named(name)?.render(None, None)?;
            settings.insert(SYSTEM, Setting::new(Value::text(system), named.source));
        }
        Ok(settings)
    }

    /// Leaves out the MCP servers of the project. Returns their names.
    #[cfg(feature = "acp")]
    pub(crate) fn leave_out_servers_of_project(&mut self) -> Vec<String> {
        let mut declared = Declared::clone(&self.declared);
        let is_of_project = |server: &mut tables::McpServer| server.origin == Origin::Project;
        let left_out = declared.servers.extract_if(.., |_, it| is_of_project(it));
        let names = left_out.map(|(name, _)| name).collect();
        self.declared = Arc::new(declared);
        names
    }

    /// Takes note that another profile is in use.
    #[cfg(feature = "chat")]
    pub(crate) fn use_profile(&mut self, name: &str) {
        self.profile = Some((name.to_owned(), Source::Flag));
    }

    /// The name of the profile in use. In a continued session, only a profile that was chosen for it is.
    #[cfg(feature = "chat")]
    pub(crate) fn profile_in_use(&self, is_continued: bool) -> Option<&str> {
        let (name, source) = self.profile.as_ref()?;
        (!is_continued || *source == Source::Flag).then_some(name)
    }

    /// The setting of a key that concerns every verb.
    pub(crate) fn everywhere(&self, name: &str) -> Result<Option<Setting>, Error> {
        let profile = self.profile.as_ref();
        let profile = profile.map(|(name, source)| self.profiles.layers(name, source));
        let profile = profile.transpose()?.unwrap_or_default();
        let stronger = [&self.variables, &self.in_project].into_iter();
        let layers = stronger.chain(profile.iter().rev()).chain([&self.user]);
        let mut found = layers.filter_map(|it| it.shared.get(name));
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
    let values = Value::Texts(values.into_iter().map(Into::into).collect());
    let source = Source::File(Origin::User, (*places.first()?).clone());
    Some((option.to_owned(), Setting::new(values, source)))
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
    keys: &Keys,
) -> Result<Option<ConfigFile>, Error> {
    use std::io::ErrorKind::{NotADirectory, NotFound};

    let text = match files::text(path, value::LIMIT) {
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
