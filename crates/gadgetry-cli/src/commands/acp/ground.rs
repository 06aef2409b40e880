//! What sessions begin with: options, and the configuration in their folders.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gadgetry::Model;
use gadgetry::models::Feature;
use gadgetry::provider::Resolver;
use gadgetry_acp::{HostError, ToolServer};

use crate::catalog;
use crate::cli::{AgentOptions, ConfigArgs, DataArgs};
use crate::config::{Asking, Config, ConfigVerb, Keys, PROJECT_FILE, Status};
use crate::connect::{self, ModelOverrides};
use crate::error::Error;
use crate::invocation::{Invocation, merge};
use crate::lines::one_line;
use crate::options::{MODEL, Options as _, Setting, Settings, Source, Value};
use crate::printer::Printer;
use crate::sessions::OPTIONS;

/// What was typed, for sessions in any folder.
pub(super) struct Ground {
    /// Options that were typed, with absolute paths.
    typed: Settings,
    chosen: ConfigArgs,
    pub(super) data: DataArgs,
    pub(super) printer: Printer,
}

impl Ground {
    /// Begins with an invocation.
    pub(super) fn new(
        data: DataArgs,
        invocation: Invocation,
        printer: Printer,
    ) -> Result<Self, Error> {
        let typed = invocation.settings.only(|_, it| it.source.is_typed());
        let typed = typed.in_folder(Path::new(""), &OPTIONS);
        Ok(Self {
            typed: typed.map_err(|error| Error::machine(&error))?,
            chosen: invocation.chosen,
            data,
            printer,
        })
    }

    /// Checks whether the model that is configured can be used.
    pub(super) async fn check_model(self: &Arc<Self>) -> Result<(), HostError> {
        let here = env::current_dir().map_err(|error| words(Error::machine(&error)))?;
        let base = Base::new(self, here)?;
        let options = base.options(&base.new_settings()?)?;
        base.model(&options).await.map(drop)
    }
}

/// What a session begins with: options, and the configuration in its folder.
pub(super) struct Base {
    pub(super) ground: Arc<Ground>,
    pub(super) config: Config,
    /// The folder that the client has named.
    pub(super) folder: PathBuf,
    /// What of its configuration is not used, for the user.
    pub(super) notes: Vec<String>,
}

impl Base {
    /// Reads the configuration of a folder. What the project's file says counts if the user has trusted it there.
    pub(super) fn new(ground: &Arc<Ground>, folder: PathBuf) -> Result<Self, HostError> {
        let (keys, printer) = (Keys::new(), &ground.printer);
        let mut config = Config::load_in(&folder, &ground.chosen, &keys, Asking::Note, printer)
            .map_err(words)?;
        let mut notes = Vec::new();
        if matches!(config.project, Status::Untrusted | Status::Changed) {
            notes.push(format!(
                "{PROJECT_FILE} is not used: you have not trusted it as it is now; `gadgetry config trust` there shows it and trusts it"
            ));
        }
        let here = env::current_dir().and_then(|it| it.canonicalize()).ok();
        if folder.canonicalize().ok() != here {
            // Consent to a program is about the folder that it is started in, which is ours.
            let left_out = config.leave_out_servers_of_project();
            if !left_out.is_empty() {
                let note = format!(
                    "{} is not the folder that `gadgetry acp` runs in, so MCP servers of its {PROJECT_FILE} are not used: {}",
                    folder.display(),
                    one_line(&left_out.join(", "))
                );
                printer.progress(&format!("{note}\n"));
                notes.push(note);
            }
        }
        Ok(Self {
            ground: Arc::clone(ground),
            config,
            folder,
            notes,
        })
    }

    pub(super) fn printer(&self) -> &Printer {
        &self.ground.printer
    }

    /// Returns the options of a new session.
    pub(super) fn new_settings(&self) -> Result<Settings, HostError> {
        let configured = self.config.settings(ConfigVerb::Acp, None, &Keys::new());
        with_a_model(self.merged(configured.map_err(words)?)?)
    }

    /// Returns the options of a session that has these: what was typed is stronger, and what no session keeps is configured.
    pub(super) fn settings_of(&self, stored: Settings) -> Result<Settings, HostError> {
        let (keys, verb) = (Keys::new(), ConfigVerb::Acp);
        let configured = self.config.settings(verb, None, &keys).map_err(words)?;
        let configured = self.config.of_continued(configured, verb, None, &keys);
        let settings = self.merged(configured.map_err(words)?)?;
        with_a_model(settings.merge(stored, &OPTIONS))
    }

    /// Returns the options with another profile: what was typed is stronger, and the model in use stays if the profile names none.
    pub(super) fn with_profile(&self, name: &str, used: &Settings) -> Result<Settings, HostError> {
        let (keys, verb) = (Keys::new(), ConfigVerb::Acp);
        let chosen = (name.to_owned(), Source::Flag);
        let configured = self
            .config
            .settings_with(verb, None, Some(&chosen), &keys)
            .map_err(words)?;
        let settings = self.merged(configured)?;
        if settings.has(MODEL) {
            return Ok(settings);
        }
        Ok(with_model(&settings, used.text(MODEL).unwrap_or_default()))
    }

    /// Merges what was typed with what is configured.
    fn merged(&self, configured: Settings) -> Result<Settings, HostError> {
        let configured = configured.only(|name, _| OPTIONS.get(name).is_some());
        let configured = configured.in_folder(&self.folder, &OPTIONS);
        let configured = configured.map_err(|error| words(Error::machine(&error)))?;
        let typed = self.ground.typed.clone();
        let (verb, printer) = (ConfigVerb::Acp, &self.ground.printer);
        merge(verb, typed, configured, &self.config, &OPTIONS, printer).map_err(words)
    }

    /// Reads the options of the session. The built-in gadgets work in its folder unless the user has chosen another, and the data
    /// directory is that of the program.
    pub(super) fn options(&self, settings: &Settings) -> Result<AgentOptions, HostError> {
        let mut options = AgentOptions::from_settings(settings, &OPTIONS).map_err(words)?;
        let data = &self.ground.data.data_dir;
        options.model.data.data_dir.clone_from(data);
        let workspace = &mut options.source.workspace;
        workspace.get_or_insert_with(|| self.folder.clone());
        Ok(options)
    }

    /// Finds the model of the options. All that is wrong with it is a name or a key.
    pub(super) async fn model(&self, options: &AgentOptions) -> Result<Arc<dyn Model>, HostError> {
        let auth = |error: Error| HostError::AuthRequired(error.to_string());
        let catalog = catalog::load(&self.ground.data).map_err(words)?;
        let overrides = ModelOverrides::of_agent(&options.model);
        let found = connect::model(options.model.name(), &overrides, &catalog).await;
        found.map_err(auth)
    }

    /// Returns whether a model is not known to do without reasoning.
    pub(super) fn may_reason(&self, model: &str) -> bool {
        let catalog = catalog::load(&self.ground.data).ok();
        let spec = catalog.as_ref().and_then(|it| it.get(&full_name(model)));
        spec.is_none_or(|it| it.features.contains(Feature::Reasoning))
    }
}

/// Expands a short name of a model.
pub(super) fn full_name(model: &str) -> String {
    let place = Resolver::from_env().locate(model);
    place.map_or_else(|_| model.to_owned(), |it| it.full_name())
}

/// Returns the settings with another model. Those for another server are left out.
pub(super) fn with_model(settings: &Settings, model: &str) -> Settings {
    let setting = Setting::new(Value::text(model), Source::Flag);
    let chosen: Settings = [(MODEL.to_owned(), setting)].into_iter().collect();
    chosen.merge(settings.clone(), &OPTIONS)
}

fn with_a_model(settings: Settings) -> Result<Settings, HostError> {
    if settings.has(MODEL) {
        return Ok(settings);
    }
    Err(HostError::AuthRequired(
        "no model is chosen: start `gadgetry acp --model MODEL`, or write `model = \"MODEL\"` into the configuration (`gadgetry init`)"
            .to_owned(),
    ))
}

/// An error in the words of the command line.
pub(super) fn words(error: Error) -> HostError {
    if let Error::Input(words) = error {
        return HostError::Invalid(words);
    }
    HostError::Failed(error.to_string())
}

/// Adds the MCP servers of the client to those that were typed. Programs run in the folder of the session.
#[cfg(feature = "mcp")]
pub(super) fn add_servers(options: &mut AgentOptions, servers: &[ToolServer], folder: &Path) {
    use std::collections::BTreeMap;

    use gadgetry_acp::ToolTransport;
    use gadgetry_mcp::config::{Http, ServerConfig, Stdio, Transport};

    use crate::cli::TypedServer;

    let servers = servers.iter().filter_map(|server| {
        let map = |pairs: &[(String, String)]| pairs.iter().cloned().collect::<BTreeMap<_, _>>();
        let transport = match &server.transport {
            ToolTransport::Stdio {
                program,
                arguments,
                variables,
            } => Transport::Stdio(Stdio {
                command: program.display().to_string(),
                args: arguments.clone(),
                env: map(variables),
                cwd: Some(folder.to_owned()),
            }),
            ToolTransport::Http { url, headers } => Transport::Http(Http {
                url: url.clone(),
                headers: map(headers),
                ..Http::default()
            }),
            _ => return None,
        };
        Some(TypedServer {
            name: server.name.clone(),
            config: ServerConfig::new(transport),
        })
    });
    options.source.mcp.extend(servers);
}

/// Ignores them in a build without MCP.
#[cfg(not(feature = "mcp"))]
pub(super) fn add_servers(_: &mut AgentOptions, _: &[ToolServer], _: &Path) {}
