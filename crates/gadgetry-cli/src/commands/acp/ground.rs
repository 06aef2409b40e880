//! What all sessions begin with: options and configuration.

use std::path::Path;
use std::sync::Arc;

use gadgetry::Model;
use gadgetry::models::ModelFilter;
use gadgetry::provider::Resolver;
use gadgetry_acp::{HostError, ToolServer};

use crate::catalog;
use crate::cli::{AgentOptions, DataArgs};
use crate::config::{Config, ConfigVerb, Keys};
use crate::connect::{self, ModelOverrides};
use crate::error::Error;
use crate::invocation::Invocation;
use crate::options::{MODEL, Options as _, Setting, Settings, Source, Value};
use crate::printer::Printer;
use crate::sessions::OPTIONS;

/// Models that are offered; clients show them as a menu.
const MODELS: usize = 100;

/// Options and configuration.
pub(super) struct Ground {
    /// What was typed and configured, with absolute paths.
    settings: Settings,
    pub(super) config: Config,
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
        let settings = invocation.settings.in_folder(Path::new(""), &OPTIONS);
        Ok(Self {
            settings: settings.map_err(|error| Error::machine(&error))?,
            config: invocation.config,
            data,
            printer,
        })
    }

    /// Returns the options of a new session.
    pub(super) fn new_settings(&self) -> Result<Settings, HostError> {
        if !self.settings.has(MODEL) {
            return Err(no_model());
        }
        Ok(self.settings.clone())
    }

    /// Returns the options of a session that has these: what was typed is stronger, and what no session keeps is configured.
    pub(super) fn settings_of(&self, stored: Settings) -> Result<Settings, HostError> {
        let typed = self.settings.clone().only(|_, it| it.source.is_typed());
        let configured =
            self.config
                .of_continued(self.settings.clone(), ConfigVerb::Acp, None, &Keys::new());
        let configured = configured.map_err(words)?;
        let settings = typed.merge(configured, &OPTIONS).merge(stored, &OPTIONS);
        if !settings.has(MODEL) {
            return Err(no_model());
        }
        Ok(settings)
    }

    /// Checks whether the model that is configured can be used.
    pub(super) async fn check_model(&self) -> Result<(), HostError> {
        let options = self.options(&self.new_settings()?)?;
        self.model(&options).await.map(drop)
    }

    /// Reads options. The data directory is that of the program.
    pub(super) fn options(&self, settings: &Settings) -> Result<AgentOptions, HostError> {
        let mut options = AgentOptions::from_settings(settings, &OPTIONS).map_err(words)?;
        options.model.data.data_dir.clone_from(&self.data.data_dir);
        Ok(options)
    }

    /// Reads the options of a session in a folder, which the built-in gadgets work in unless the user has chosen another.
    pub(super) fn options_in(
        &self,
        folder: &Path,
        settings: &Settings,
    ) -> Result<AgentOptions, HostError> {
        let mut options = self.options(settings)?;
        let workspace = &mut options.source.workspace;
        workspace.get_or_insert_with(|| folder.to_owned());
        Ok(options)
    }

    /// Finds the model of the options. All that is wrong with it is a name or a key.
    pub(super) async fn model(&self, options: &AgentOptions) -> Result<Arc<dyn Model>, HostError> {
        let auth = |error: Error| HostError::AuthRequired(error.to_string());
        let catalog = catalog::load(&self.data).map_err(words)?;
        let overrides = ModelOverrides::of_agent(&options.model);
        let found = connect::model(options.model.name(), &overrides, &catalog).await;
        found.map_err(auth)
    }

    /// Lists models to choose from, the `current` one among them: those of the configuration, and of the same provider.
    pub(super) fn models(&self, current: &str) -> Vec<String> {
        let mut models: Vec<String> = Vec::new();
        for name in self.config.profiles.names() {
            let layers = self.config.profiles.layers(name, &Source::Flag);
            let settings = layers.unwrap_or_default().into_iter();
            let (keys, verb) = (Keys::new(), ConfigVerb::Acp);
            let settings = settings.fold(Settings::default(), |weaker, it| {
                it.over(weaker, verb, &keys)
            });
            models.extend(settings.text(MODEL).map(str::to_owned));
        }
        models.extend(self.settings.text(MODEL).map(str::to_owned));
        if let (Some((provider, _)), Ok(catalog)) =
            (current.split_once(':'), catalog::load(&self.data))
        {
            let prefix = format!("{provider}:");
            let filter = ModelFilter::default();
            let known = catalog.list(&filter).filter_map(Resolver::name_of);
            models.extend(known.filter(|it| it.starts_with(&prefix)));
        }
        models.sort_unstable();
        models.dedup();
        models.truncate(MODELS);
        if !models.iter().any(|it| it == current) {
            models.insert(0, current.to_owned());
        }
        models
    }
}

/// Returns the settings with another model. Those for another server are left out.
pub(super) fn with_model(settings: &Settings, model: &str) -> Settings {
    let setting = Setting::new(Value::text(model), Source::Flag);
    let chosen: Settings = [(MODEL.to_owned(), setting)].into_iter().collect();
    chosen.merge(settings.clone(), &OPTIONS)
}

fn no_model() -> HostError {
    HostError::AuthRequired(
        "no model is chosen: start `gadgetry acp --model MODEL`, or write `model = \"MODEL\"` into the configuration (`gadgetry init`)"
            .to_owned(),
    )
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
