//! Parts from which the agents of a conversation are built.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gadgetry::approval::{Answer, ApprovalRequest, Approvals, Approver};
use gadgetry::{Agent, Human};

use crate::approvals::{by_rules, rules, rules_in_mode};
use crate::build_agent::{Parts, Situation};
use crate::chat::flight::Flight;
use crate::chat::injected::Injected;
use crate::checkpoints::Checkpoints;
use crate::cli::AgentOptions;
use crate::config::{Config, ConfigVerb, Declared, Keys, Layer};
use crate::connect::ImageUse;
use crate::error::Error;
use crate::invocation::Invocation;
use crate::live_output::LiveOutput;
use crate::mcp;
use crate::modes::CurrentMode;
use crate::options::{Attributes, MODEL, Setting, Settings, Source, Value};
use crate::project::Project;
use crate::sessions::OPTIONS;
use crate::sources::builtin_edits;
use crate::usable::Usable;
use crate::workspaces::Workspaces;

/// Who answers and approves, and what the user can cancel.
#[derive(Clone)]
pub(in crate::chat) struct User {
    pub(in crate::chat) human: Arc<dyn Human>,
    /// Who approves calls; `None` if no user can.
    pub(in crate::chat) approver: Option<Arc<dyn Approver>>,
    pub(in crate::chat) flight: Flight,
    pub(in crate::chat) injected: Injected,
    /// What commands write while they run.
    pub(in crate::chat) output: LiveOutput,
    /// Which calls run without a question, and which do not run.
    pub(in crate::chat) mode: CurrentMode,
    /// Workspaces where gadgets change files, so that the user can undo it.
    pub(in crate::chat) workspaces: Workspaces,
    /// Records there what commands change.
    pub(in crate::chat) checkpoints: Checkpoints,
}

impl User {
    /// A user who answers, and approves if there is an approver.
    pub(in crate::chat) fn new(human: Arc<dyn Human>, approver: Option<Arc<dyn Approver>>) -> Self {
        let workspaces = Workspaces::default();
        Self {
            human,
            approver,
            flight: Flight::default(),
            injected: Injected::default(),
            output: LiveOutput::default(),
            mode: CurrentMode::default(),
            checkpoints: Checkpoints::of(workspaces.clone()),
            workspaces,
        }
    }
}

/// The ground of another profile: the options without those that the configuration has set.
pub(super) struct Base {
    pub(super) config: Config,
    /// The options that were typed.
    typed: Settings,
    /// The options of the session that is continued.
    stored: Option<Settings>,
    /// What the agents learn from the folder.
    pub(super) project: Project,
    /// Those of the session that is continued.
    pub(super) images: ImageUse,
    /// The models that can be used.
    pub(super) usable: Usable,
    /// The working directory at the start, from which configured paths are resolved.
    folder: PathBuf,
}

impl Base {
    /// Begins with what was typed and configured, and the session that is continued. Call it before the working directory changes.
    pub(super) fn new(invocation: Invocation, stored: Option<Settings>) -> Result<Self, Error> {
        let typed = invocation.settings.only(|_, it| it.source.is_typed());
        let typed = typed.in_folder(Path::new(""), &OPTIONS);
        let folder = env::current_dir();
        Ok(Self {
            typed: typed.map_err(|error| Error::machine(&error))?,
            folder: folder.map_err(|error| Error::machine(&error))?,
            config: invocation.config,
            usable: Usable::by_keys(),
            project: Project::default(),
            images: ImageUse::None,
            stored,
        })
    }

    /// Returns the rules and MCP servers of files.
    pub(super) fn declared(&self) -> &Arc<Declared> {
        &self.config.declared
    }

    /// Forgets what was typed or stored for the server of a model that is not in use any more.
    pub(super) fn leave_server(&mut self) {
        for settings in [Some(&mut self.typed), self.stored.as_mut()]
            .into_iter()
            .flatten()
        {
            *settings = of_no_server(std::mem::take(settings));
        }
    }

    /// The profile in use, unless the options of a session are in its place.
    pub(super) fn profile(&self) -> Option<&str> {
        self.config.profile_in_use(self.stored.is_some())
    }

    /// The profiles, with a note at the one in use.
    pub(super) fn profiles(&self) -> Vec<(String, String)> {
        let current = self.profile();
        let names = self.config.profiles.names();
        let rows = names.map(|name| {
            let is_current = current == Some(name);
            let what = if is_current { "in use" } else { "" };
            (name.to_owned(), what.to_owned())
        });
        rows.collect()
    }

    /// Returns the options with another profile: what was typed is the strongest, then comes the configuration, then the session. The
    /// `model` in use stays if one was typed, or if the profile names none. With `leaves`, what was typed or stored for the server of the
    /// model does not count.
    pub(super) fn with_profile(
        &self,
        profile: &str,
        model: &str,
        leaves: bool,
    ) -> Result<Settings, Error> {
        let (keys, verb) = (Keys::new(), ConfigVerb::Chat);
        let chosen = (profile.to_owned(), Source::Flag);
        let layers = self.config.profiles.layers(profile, &chosen.1)?;
        let names_model = |it: &Layer| it.over(Settings::default(), verb, &keys).has(MODEL);
        let names_model = layers.iter().any(names_model);
        let (mut typed, mut stored) = (self.typed.clone(), self.stored.clone());
        if leaves {
            (typed, stored) = (of_no_server(typed), stored.map(of_no_server));
        }
        if !names_model || typed.has(MODEL) {
            typed.insert(MODEL, Setting::new(Value::text(model), Source::Flag));
        }
        let configured = self
            .config
            .settings_with(verb, None, Some(&chosen), &keys)?;
        let configured = match self.stored {
            Some(_) => (self.config).of_continued(configured, verb, Some(&chosen), &keys)?,
            None => configured,
        };
        let configured = configured.in_folder(&self.folder, &OPTIONS);
        let configured = configured.map_err(|error| Error::machine(&error))?;
        let settings = self.config.with_prompt(typed.merge(configured, &OPTIONS))?;
        Ok(settings.merge(stored.unwrap_or_default(), &OPTIONS))
    }

    /// Reads what the agent is made from. Of a script, the first `replies` were read before.
    pub(super) async fn parts<'o>(
        &self,
        options: &'o AgentOptions,
        replies: usize,
        user: &User,
        approvals: &Approvals,
    ) -> Result<Parts<'o>, Error> {
        let situation = Situation {
            replies,
            human: Some(Arc::clone(&user.human)),
            approvals: Some(approvals.clone()),
            mode: Some(user.mode.clone()),
            observers: vec![Box::new(user.injected.clone())],
            declared: Arc::clone(self.declared()),
            workspaces: user.workspaces.clone(),
            checkpoints: Some(user.checkpoints.clone()),
            project: self.project.clone(),
            images: self.images,
            ..Situation::default()
        };
        Parts::read(options, situation).await
    }
}

/// Settings without those for the server of a model.
fn of_no_server(settings: Settings) -> Settings {
    settings.only(|name, _| !Attributes::of(name).is_of_model_server())
}

/// Builds the agent, whose gadgets the user can cancel.
pub(super) fn agent(
    parts: &Parts<'_>,
    user: &User,
    servers: Option<&mcp::Connected>,
) -> Result<Agent, Error> {
    parts.agent_with(servers, |gadget| user.flight.watch(gadget))
}

/// Returns what decides about calls: rules, the mode, the user.
pub(super) fn approvals(options: &AgentOptions, user: &User) -> Result<Approvals, Error> {
    let Some(approver) = user.approver.clone() else {
        // Without a user, the mode does not change.
        let edits = builtin_edits(&options.source);
        let rules = rules_in_mode(&options.approvals, &edits)?;
        return Ok(by_rules(rules));
    };
    let rules = rules(&options.approvals)?;
    let approvals = by_rules(rules.clone());
    let mode = user.mode.clone();
    Ok(approvals.approver(move |request: ApprovalRequest| {
        let (approver, mode, rules) = (Arc::clone(&approver), mode.clone(), rules.clone());
        async move {
            let subject = request.preview.subject.as_ref();
            // A rule that has led to the question is one that asks.
            let asks = rules.decide(&request.gadget, &request.parameters, subject);
            if mode.approves(&request.gadget) && asks.is_none() {
                return Answer::Once;
            }
            approver.approve(request).await
        }
    }))
}
