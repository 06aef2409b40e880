//! A session: the conversation of the user with an agent, kept as the runs of `gadgetry agent` are.

mod fork;
mod slash;

use std::mem;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::try_join;
use gadgetry::approval::{Approval, Approvals};
use gadgetry::journal::RunId;
use gadgetry::proto::message::Content;
use gadgetry::{Agent, AgentRun, Conversation, Finished, MediaKind, RunError, Skills, Subject};
use gadgetry_acp::{
    CallDescription, Choice, Client, HostError, HostSession, Offer, Past, Prompt, Setup, Turn,
};
use gadgetry_store::Replay;
use serde_json::Value as Json;

use super::choices::{Choices, MODE, PROFILE, REASONING, UNSET};
use super::describe::describe;
use super::editor::{ClientEditor, shown_by};
use super::ground::{Base, Ground, add_servers, with_model, words};
use super::past::past;
use crate::approvals::{by_rules, rules};
use crate::build_agent::{Parts, Situation};
use crate::calls;
use crate::cli::{AgentOptions, SessionName};
use crate::config::Asking;
use crate::connect::{self, ImageUse};
use crate::error::Error;
use crate::hooks::{Commands, Moments, Start, noted};
use crate::mcp;
use crate::modes::{CurrentMode, Mode};
use crate::options::{MODEL, Setting, Settings, Source, Value};
use crate::project::Project;
use crate::sessions::{
    Details, Hold, Session, Sessions, details, problem, replies_read, without_details,
};
use crate::sources::wanted_builtins;
use crate::workspaces::Workspaces;

/// A session.
pub(super) struct AcpSession {
    base: Base,
    sessions: Sessions,
    name: SessionName,
    id: String,
    client: Client,
    moments: Moments,
    settings: Settings,
    /// The profile in use, and the settings before it, if the user has chosen one.
    profile: Option<(String, Settings)>,
    options: AgentOptions,
    /// What the agent learns from the folder.
    project: Project,
    mode: CurrentMode,
    approvals: Approvals,
    workspaces: Workspaces,
    servers: Option<Arc<mcp::Connected>>,
    agent: Agent,
    skills: Skills,
    /// The size of the model's context window.
    window: Option<u64>,
    /// Models to choose from.
    models: Vec<Choice>,
    /// Whether the model may take a reasoning effort.
    reasons: bool,
    /// Whether the session began with the profile of the configuration.
    is_new: bool,
    details: Details,
    conversation: Conversation,
    /// The runs, by number. Those of a session that it was forked from are the first ones.
    runs: Vec<(u32, RunId)>,
    /// Plays the runs again while their past is read.
    replay: Option<Replay>,
    /// Whether the last run was interrupted, and so continues with the next prompt.
    is_interrupted: bool,
    /// Keeps other processes out of the session during a prompt.
    hold: Option<Hold>,
    /// What the user is shown with the first prompt of a new session: what was found in its folder.
    notes: Vec<String>,
}

impl AcpSession {
    /// Begins a session. Nothing is kept of it before its first prompt.
    pub(super) async fn create(
        ground: &Arc<Ground>,
        sessions: Sessions,
        setup: Setup,
    ) -> Result<Self, HostError> {
        let name = free_name(&sessions).await?;
        let base = Base::new(ground, setup.folder.clone())?;
        let settings = base.new_settings()?;
        let details = Details::in_folder(&settings, setup.folder.clone());
        let mut details = details.map_err(|error| words(Error::machine(&error)))?;
        details.is_unattended = !setup.client.answers_questions();
        let options = (settings, details, None);
        let mut session = Self::new(base, (sessions, name), options, 0, setup).await?;
        session.is_new = true;
        session.begins(Start::Startup);
        Ok(session)
    }

    /// Opens a session that is kept, in the folder that the client names. Its options are those that it has, unless others were typed.
    pub(super) async fn open(
        ground: &Arc<Ground>,
        sessions: Sessions,
        stored: Session,
        setup: Setup,
    ) -> Result<Self, HostError> {
        let (_, last) = stored.last().map_err(words)?;
        let kept = details(last).ok_or_else(|| words(without_details(&stored)))?;
        let base = Base::new(ground, setup.folder.clone())?;
        let settings = base.settings_of(kept.settings().map_err(words)?)?;
        let mut details = Details::in_folder(&settings, setup.folder.clone())
            .map_err(|error| words(Error::machine(&error)))?;
        details.added.clone_from(&kept.added);
        details.typed.clone_from(&kept.typed);
        details.undone.clone_from(&kept.undone);
        details.forked_from.clone_from(&kept.forked_from);
        details.has_images = kept.has_images;
        let (last, is_over) = (last.id.clone(), last.progress.summary.is_some());
        details.is_unattended = if is_over {
            !setup.client.answers_questions()
        } else {
            // It continues with the gadgets that it began with.
            kept.is_unattended
        };
        let is_script = settings.text(MODEL).and_then(connect::script).is_some();
        let replies = if is_script && !is_over {
            replies_read(&sessions, &last).await.map_err(words)?
        } else {
            0
        };
        let runs = sessions.runs_with_parents(&stored).await.map_err(words)?;
        let at = (sessions, stored.name.clone());
        // It keeps what it began with.
        let header = at.0.journal.header(&last).await;
        let header = header.map_err(|error| words(problem(&error)))?;
        let context = kept.context(&header.config).map_err(words)?;
        let options = (settings, details, context);
        let mut session = Self::new(base, at, options, replies, setup).await?;
        session.runs = runs;
        session.notes.clear();
        session.is_interrupted = !is_over;
        session.begins(Start::Resume);
        if is_over {
            // The conversation after it.
            let ended = session.durable(&last).force().resume().await;
            let ended = ended
                .map_err(|error| words(problem(&error)))?
                .finish()
                .await;
            session.ended(&ended.unwrap_or_else(RunError::into_finished));
        }
        Ok(session)
    }

    async fn new(
        base: Base,
        (sessions, name): (Sessions, SessionName),
        (settings, details, context): (Settings, Details, Option<String>),
        replies: usize,
        setup: Setup,
    ) -> Result<Self, HostError> {
        let mut options = base.options(&settings)?;
        // A key that is missing is another error than any other mistake.
        let models = base.models(&options).map(Ok);
        let (model, models) = try_join(base.model(&options), models).await?;
        add_servers(&mut options, &setup.servers, &setup.folder);
        let approvals = by_rules(rules(&options.approvals).map_err(words)?);
        let approvals = approvals.approver(setup.client.clone());
        let mode = CurrentMode::new(options.approvals.approval_mode);
        let client = &setup.client;
        let is_editor = client.reads_files() || client.writes_files() || client.has_terminals();
        let workspaces = if is_editor {
            Workspaces::in_editor(Arc::new(ClientEditor(client.clone())))
        } else {
            Workspaces::default()
        };
        // The client has no question about a project, so consent is given by `gadgetry config trust`.
        let project = Project::read(&options, context, Asking::Note, base.printer());
        let project = project.map_err(words)?;
        let situation = situation(
            &base,
            &setup.client,
            &approvals,
            &mode,
            &workspaces,
            &project,
            &details,
        );
        let situation = Situation {
            replies,
            ..situation
        };
        let parts = Parts::read(&options, situation).await.map_err(words)?;
        parts.note(base.printer());
        // Options are checked before anything is started.
        parts.agent(None).map_err(words)?;
        let declared = &base.config.declared;
        let servers = mcp::connect(&options.source, declared, base.printer()).await;
        let servers = servers.map_err(words)?;
        let agent = parts.agent(servers.as_deref()).map_err(words)?;
        let (skills, mut notes) = (parts.skills, base.notes.clone());
        notes.extend(parts.notes);
        let reasons = base.may_reason(options.model.name());
        Ok(Self {
            models,
            reasons,
            profile: None,
            is_new: false,
            base,
            sessions,
            id: name.to_string(),
            name,
            client: setup.client,
            moments: Moments::default(),
            settings,
            options,
            project,
            mode,
            approvals,
            workspaces,
            servers,
            agent,
            skills,
            window: model.info().context_window,
            details,
            conversation: Conversation::default(),
            runs: Vec::new(),
            replay: None,
            is_interrupted: false,
            hold: None,
            notes,
        })
    }

    /// Builds the agent for these options. If that fails, the one before stays.
    async fn rebuild(&mut self, options: AgentOptions) -> Result<(), HostError> {
        let models = self.base.models(&options).map(Ok);
        let (model, models) = try_join(self.base.model(&options), models).await?;
        let (client, approvals) = (&self.client, &self.approvals);
        let (workspaces, project) = (&self.workspaces, &self.project);
        let (mode, details) = (&self.mode, &self.details);
        let situation = situation(
            &self.base, client, approvals, mode, workspaces, project, details,
        );
        let parts = Parts::read(&options, situation).await.map_err(words)?;
        let agent = parts.agent(self.servers.as_deref()).map_err(words)?;
        self.skills = parts.skills;
        self.agent = agent;
        self.window = model.info().context_window;
        self.models = models;
        self.reasons = self.base.may_reason(options.model.name());
        self.options = options;
        Ok(())
    }

    fn begins(&mut self, start: Start) {
        let (declared, folder) = (&self.base.config.declared, self.base.folder.clone());
        let commands = Commands::of(declared, &self.options, Some(folder), self.mode.clone());
        self.moments = Moments::new(commands, start);
    }

    fn durable(&self, run: &RunId) -> gadgetry::agent::Durable {
        let durable = self.agent.durable(&self.sessions.journal);
        durable.run_id(run.as_str())
    }

    async fn store(&self, run: &RunId) -> Result<(), HostError> {
        let json = serde_json::to_string(&self.details);
        let json = json.map_err(|error| HostError::Failed(error.to_string()))?;
        let stored = self.sessions.journal.set_details(run, json).await;
        stored.map_err(|error| words(problem(&error)))
    }

    /// Keeps other processes out of the session, unless one has it open or has continued it.
    async fn hold(&self) -> Result<Hold, HostError> {
        let hold = self.sessions.hold(&self.name).await.map_err(words)?;
        let stored = self.sessions.find(&self.name).await.map_err(words)?;
        let latest = stored.and_then(|it| it.runs.keys().next_back().copied());
        if latest > self.runs.last().map(|(number, _)| *number) {
            let words = "another program has continued the session; load it again";
            return Err(HostError::Invalid(words.to_owned()));
        }
        Ok(hold)
    }

    /// Begins the next run.
    async fn next(&mut self, prompt: Prompt) -> Result<(u32, AgentRun<'static>), HostError> {
        let number = self.runs.last().map_or(1, |(number, _)| number + 1);
        let run = self.name.run(number);
        let run = run.map_err(|error| HostError::Failed(error.to_string()))?;
        self.details.added.clear();
        let prompt = if self.details.undone.is_empty() {
            prompt
        } else {
            let text = self.details.with_undone(prompt.texts());
            prompt.with_first_text(text)
        };
        let typed = prompt.words();
        self.details.typed = (prompt.texts() != typed).then(|| typed.to_owned());
        self.store(&run).await?;
        let durable = self.durable(&run).after(self.conversation.clone());
        let begun = durable.ask_with(prompt.into_content()).await;
        let begun = begun.map_err(|error| words(problem(&error)))?;
        self.runs.push((number, run));
        Ok((number, begun))
    }

    /// Continues the run that was interrupted, with a further message.
    async fn resume(&mut self, prompt: Prompt) -> Result<(u32, AgentRun<'static>), HostError> {
        let Some((number, run)) = self.runs.last().cloned() else {
            return Err(HostError::Failed("there is no run".to_owned()));
        };
        let resumed = self.durable(&run).force().resume().await;
        let resumed = resumed.map_err(|error| words(problem(&error)))?;
        let text = prompt.texts();
        self.details.added.push(prompt.words().to_owned());
        // It cannot be over, because it was not polled yet.
        let injected = resumed.handle().inject(text);
        injected.map_err(|error| HostError::Failed(error.to_string()))?;
        self.store(&run).await?;
        self.is_interrupted = false;
        Ok((number, resumed))
    }

    /// Returns whether the built-in gadget of this name is among those of the agent.
    fn has_builtin(&self, name: &str) -> bool {
        let wanted = wanted_builtins(&self.options.source);
        let mut names = wanted.split(',').map(str::trim);
        wanted == "all" || names.any(|it| it.eq_ignore_ascii_case(name))
    }
}

impl HostSession for AcpSession {
    fn id(&self) -> &str {
        &self.id
    }

    fn offer(&self) -> Offer {
        let choices = Choices {
            mode: self.mode.get(),
            options: &self.options,
            models: &self.models,
            profile: self.profile_in_use(),
            profiles: self.base.config.profiles.names().collect(),
            reasons: self.reasons,
        };
        let mut offer = Offer::default();
        offer.options = choices.options();
        offer.commands = self.commands();
        offer.window = self.window;
        offer
    }

    fn describe(&self, gadget: &str, parameters: Option<&Json>) -> CallDescription {
        describe(gadget, parameters)
    }

    fn has_failed(&self, gadget: &str, result: &str) -> bool {
        calls::failure(gadget, result).is_some()
    }

    fn approves(&self, approval: &Approval) -> bool {
        let gadget = &*approval.gadget_name;
        let is_edit = matches!(gadget, "WriteFile" | "EditFile");
        if self.mode.get() != Mode::AcceptEdits || !is_edit || !self.has_builtin(gadget) {
            return false;
        }
        // A rule that has led to the question is one that asks.
        let subject = approval.subject.as_ref();
        let subject = subject.map(|it| Subject::Path(it.text.clone()));
        let rules = self.approvals.rules();
        let rule = rules.decide(gadget, &approval.parameters, subject.as_ref());
        rule.is_none()
    }

    fn runs(&self) -> Vec<u32> {
        self.runs.iter().map(|(number, _)| *number).collect()
    }

    async fn past(&mut self, run: u32) -> Result<Vec<Past>, HostError> {
        let Some(index) = self.runs.iter().position(|(number, _)| *number == run) else {
            return Ok(Vec::new());
        };
        let replay = self.replay.take();
        let mut replay = replay.unwrap_or_else(|| self.sessions.journal.replay());
        let past = past(&self.sessions, &mut replay, &self.runs[index].1).await;
        // What it knows takes memory, and nothing follows the last run.
        self.replay = Some(replay).filter(|_| index + 1 < self.runs.len());
        past
    }

    async fn prompt(&mut self, prompt: Prompt) -> Result<Turn, HostError> {
        let has_image =
            |it: &Content| matches!(it, Content::Media(it) if it.kind == MediaKind::Image);
        let is_first_image = !self.details.has_images && prompt.content().iter().any(has_image);
        // A model that is in no table reads them from now on.
        self.details.has_images |= is_first_image;
        if is_first_image || self.servers.as_ref().is_some_and(|it| it.has_changed()) {
            let options = self.base.options(&self.settings)?;
            self.rebuild(options).await?;
        }
        let prompt = self.expanded(prompt)?;
        let hold = self.hold().await?;
        let submitted = self.moments.submit(Some(&self.id), &prompt.texts()).await;
        let submitted = submitted.map_err(words)?;
        noted(&submitted.notes, self.base.printer());
        let prompt = if submitted.context.is_empty() {
            prompt
        } else {
            prompt.and_text(submitted.context)
        };
        let (number, run) = if self.is_interrupted {
            self.resume(prompt).await?
        } else {
            self.next(prompt).await?
        };
        self.hold = Some(hold);
        let run = run.with(shown_by(self.client.clone()));
        Ok(Turn::new(number, run).with_notes(mem::take(&mut self.notes)))
    }

    fn ended(&mut self, finished: &Finished) {
        self.conversation = Conversation::from(finished);
        self.hold = None;
    }

    async fn set(&mut self, option: &str, value: &str) -> Result<(), HostError> {
        if option == MODE {
            let mode = Mode::named(value);
            self.mode
                .set(mode.ok_or_else(|| HostError::Invalid(format!("no mode {value}")))?);
            return Ok(());
        }
        let mut profile = self.profile.clone();
        let settings = match option {
            REASONING => {
                let mut settings = self.settings.clone();
                settings.remove(REASONING);
                if value != UNSET {
                    let effort = Setting::new(Value::text(value), Source::Flag);
                    settings.insert(REASONING, effort);
                }
                settings
            }
            PROFILE if value == UNSET => match profile.take() {
                Some((_, before)) => before,
                None => self.settings.clone(),
            },
            PROFILE => {
                let before = profile.map_or_else(|| self.settings.clone(), |(_, before)| before);
                profile = Some((value.to_owned(), before));
                self.base.with_profile(value, &self.settings)?
            }
            _ => with_model(&self.settings, value),
        };
        let options = self.base.options(&settings)?;
        self.rebuild(options).await?;
        let stored = self.details.set_options(&settings);
        stored.map_err(|error| words(Error::machine(&error)))?;
        (self.settings, self.profile) = (settings, profile);
        Ok(())
    }
}

impl AcpSession {
    /// The profile that the user has chosen, or with which the session began.
    fn profile_in_use(&self) -> Option<&str> {
        let chosen = self.profile.as_ref().map(|(name, _)| name.as_str());
        let configured = self.base.config.profile.as_ref().filter(|_| self.is_new);
        chosen.or(configured.map(|(name, _)| name.as_str()))
    }
}

/// A name that no session has.
async fn free_name(sessions: &Sessions) -> Result<SessionName, HostError> {
    loop {
        let name = SessionName::generated();
        if sessions.find(&name).await.map_err(words)?.is_none() {
            return Ok(name);
        }
    }
}

fn situation(
    base: &Base,
    client: &Client,
    approvals: &Approvals,
    mode: &CurrentMode,
    workspaces: &Workspaces,
    project: &Project,
    details: &Details,
) -> Situation {
    Situation {
        project: project.clone(),
        human: Some(Arc::new(client.clone())),
        is_unattended: details.is_unattended,
        images: ImageUse::earlier(details.has_images),
        approvals: Some(approvals.clone()),
        mode: Some(mode.clone()),
        declared: Arc::clone(&base.config.declared),
        folder: Some(base.folder.clone()),
        workspaces: workspaces.clone(),
        ..Situation::default()
    }
}
