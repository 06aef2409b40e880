//! The agent that options describe.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use gadgetry::approval::Approvals;
use gadgetry::presets::{Logging, merge};
use gadgetry::proto::prompt::{GadgetSearch, SearchWhen};
use gadgetry::proto::reply::StopEarly;
use gadgetry::proto::run::{PlanError, Tools};
use gadgetry::proto::schema::Unterminated;
use gadgetry::proto::tags::CustomBlock;
use gadgetry::{Agent, AgentBuilder, AgentError, DynGadget, Human, HumanQuestion, Model, Observer};
use gadgetry_builtins::ReadOnly;

use crate::approvals::{Approving, TerminalApprover, check_names};
use crate::blocks::Blocks;
use crate::checkpoints::Checkpoints;
use crate::cli::{
    AgentOptions, OnUnterminated, OutputLimit, SearchGadgets, ToolForm, WhenConstrained,
};
use crate::config::Declared;
use crate::connect::{self, ImageUse, ModelOverrides};
use crate::error::Error;
use crate::hooks::{Commands, CompactionHooks, ConfiguredHooks, StopHooks};
#[cfg(feature = "inspect")]
use crate::inspection;
use crate::log_file::InUse;
use crate::mcp;
use crate::modes::{CurrentMode, Mode, RUN_COMMAND};
use crate::own_files::OwnFiles;
use crate::printer::Printer;
use crate::project::Project;
use crate::sessions::Asker;
use crate::sources::{Environment, OF_USER, Sources, builtin_edits, has_builtin};
use crate::subagents::{RUN_AGENT, Subagents};
#[cfg(feature = "otel")]
use crate::telemetry;
use crate::workspaces::Workspaces;
use crate::{catalog, logging, skills};

/// Context of an agent that its options do not contain.
#[derive(Default)]
pub(crate) struct Situation {
    /// Replies of a script that were read before.
    pub(crate) replies: usize,
    /// Answers the questions of its runs.
    pub(crate) asker: Option<Arc<Asker>>,
    /// Approves calls.
    pub(crate) approver: Option<Arc<TerminalApprover>>,
    /// The same, if the user is not at the prompt of [`Asker`].
    pub(crate) human: Option<Arc<dyn Human>>,
    /// See the events and inputs of its runs.
    pub(crate) observers: Vec<Box<dyn Observer>>,
    /// Decides which calls run, instead of the rules of the options.
    pub(crate) approvals: Option<Approvals>,
    /// The mode, if the user can change it; otherwise it is that of the options.
    pub(crate) mode: Option<CurrentMode>,
    /// Rules and MCP servers of files.
    pub(crate) declared: Arc<Declared>,
    /// Has the folder of the built-in gadgets.
    pub(crate) workspaces: Workspaces,
    /// Records what commands change, if that is of interest.
    pub(crate) checkpoints: Option<Checkpoints>,
    /// What the agent learns from its folder.
    pub(crate) project: Project,
    /// Whether no user answers questions during the run.
    pub(crate) is_unattended: bool,
    /// Its messages with images.
    pub(crate) images: ImageUse,
    /// The folder that hooks run in, if it is not the working directory.
    pub(crate) folder: Option<PathBuf>,
}

/// Parts of an agent, read once. The gadgets of MCP servers are added when those are connected.
pub(crate) struct Parts<'o> {
    options: &'o AgentOptions,
    gadgets: Vec<Arc<dyn DynGadget>>,
    /// Has all but gadgets and approvals.
    builder: AgentBuilder,
    approvals: Option<Approvals>,
    mode: Option<CurrentMode>,
    checkpoints: Option<Checkpoints>,
    approver: Option<Arc<TerminalApprover>>,
    declared: Arc<Declared>,
    subagents: Subagents,
    /// How calls are written, also by subagents.
    style: AgentBuilder,
    /// What the user is shown at the start.
    pub(crate) notes: Vec<String>,
    /// The skills of the options, and those that were found.
    #[cfg(any(feature = "acp", feature = "chat"))]
    pub(crate) skills: gadgetry::Skills,
    /// The files that the agent is made from, which nothing may overwrite.
    pub(crate) in_use: Vec<InUse>,
}

impl<'o> Parts<'o> {
    /// Reads the files that the options name. Nothing is started.
    pub(crate) async fn read(
        options: &'o AgentOptions,
        situation: Situation,
    ) -> Result<Self, Error> {
        let catalog = catalog::load(&options.model.data)?;
        let overrides = ModelOverrides {
            replies: situation.replies,
            images: situation.images,
            ..ModelOverrides::of_agent(&options.model)
        };
        let model = connect::model(options.model.name(), &overrides, &catalog).await?;
        let here = env::current_dir().map_err(|error| Error::machine(&error))?;
        let folder = situation.folder.as_ref().unwrap_or(&here);
        // Of subagents, too: a model could pass on what it may not do itself.
        let mode = options.approvals.approval_mode;
        let mode = (mode != Mode::Ask).then(|| CurrentMode::new(mode));
        let mode = situation.mode.clone().or(mode);
        let data = options.model.data.data_dir.as_deref();
        let own_files = OwnFiles::of(&situation.declared, &options.source, data, folder);
        let sources = Sources::load(
            &options.source,
            &Environment {
                key: options.model.server.api_key_env.as_slice(),
                unterminated: unterminated(options),
                images: model.info().reads_images,
                workspaces: &situation.workspaces,
                after_edit: situation.declared.after_edit(),
                own_files,
                read_only: (mode.as_ref()).map_or_else(ReadOnly::default, CurrentMode::read_only),
                without: if situation.is_unattended {
                    OF_USER
                } else {
                    &[]
                },
            },
        )?;
        let inputs = connect::script(options.model.name()).into_iter();
        let inputs = inputs.chain(options.source.gadgets.as_deref());
        let in_use = InUse::by(inputs, &sources.programs);
        let mut gadgets = sources.into_gadgets();
        let mut skills = options.skills.load()?;
        situation.project.add_to(&mut skills);
        gadgets.extend(skills::gadget(&skills));
        let mut notes = situation.project.notes.clone();
        let agents = &situation.project.agents;
        let subagents = Subagents::of(agents, &options.model, &catalog, &mut notes).await;
        let declared = Arc::clone(&situation.declared);
        let mut style = style(options)?;
        if let Some(mode) = &mode {
            style = style.hook(mode.clone());
        }
        let commands = Commands::of(
            &declared,
            options,
            situation.folder.clone(),
            mode.clone().unwrap_or_default(),
        );
        if let Some(commands) = commands {
            if let Some(stop) = StopHooks::of(&commands) {
                style = style.hook(stop);
            }
            if let Some(compaction) = CompactionHooks::of(&commands) {
                style = style.hook(compaction);
            }
            style = style.hook(ConfiguredHooks(commands));
        }
        let (approvals, approver) = (situation.approvals.clone(), situation.approver.clone());
        let checkpoints = situation.checkpoints.clone();
        Ok(Self {
            options,
            gadgets,
            builder: builder(options, model, style.clone(), situation),
            approvals,
            mode,
            checkpoints,
            approver,
            declared,
            subagents,
            style,
            notes,
            #[cfg(any(feature = "acp", feature = "chat"))]
            skills,
            in_use,
        })
    }

    /// Shows what was found in the project.
    pub(crate) fn note(&self, printer: &Printer) {
        for note in &self.notes {
            printer.progress(&format!("{note}\n"));
        }
    }

    /// The agent, with the gadgets of `servers`.
    pub(crate) fn agent(&self, servers: Option<&mcp::Connected>) -> Result<Agent, Error> {
        self.agent_with(servers, |gadget| gadget)
    }

    /// The same, with what `wrap` makes of each gadget, also of those of subagents.
    pub(crate) fn agent_with(
        &self,
        servers: Option<&mcp::Connected>,
        mut wrap: impl FnMut(Arc<dyn DynGadget>) -> Arc<dyn DynGadget>,
    ) -> Result<Agent, Error> {
        let options = self.options;
        let mut gadgets = self.gadgets.clone();
        if let Some(servers) = servers {
            gadgets.extend(servers.gadgets(&gadgets));
        }
        let edits = builtin_edits(&options.source);
        if let Some(mode) = &self.mode {
            let has_commands = has_builtin(&options.source, RUN_COMMAND);
            mode.know(&gadgets, &edits, has_commands);
        }
        let gadgets = gadgets.into_iter().map(|it| match &self.mode {
            Some(mode) => mode.watch(it),
            None => it,
        });
        let gadgets = gadgets.map(|it| match &self.checkpoints {
            Some(checkpoints) => checkpoints.watch(it),
            None => it,
        });
        let mut gadgets: Vec<_> = gadgets.map(&mut wrap).collect();
        let subagents = self.subagents.gadget(&self.style, &gadgets);
        gadgets.extend(subagents.map(wrap));
        let approvals = match self.approvals.clone() {
            Some(approvals) if !options.approvals.dry_run => Approving::ByRules(approvals),
            Some(_) | None => {
                Approving::new(&options.approvals, &edits, &gadgets, self.approver.clone())?
            }
        };
        let builder = approvals.add_to(self.builder.clone().gadgets(gadgets));
        let agent = builder.build().map_err(|error| mistake(options, error))?;
        let declared = &self.declared;
        check_names(
            &options.approvals,
            &options.source,
            declared,
            &agent,
            servers,
        )?;
        Ok(agent)
    }
}

fn unterminated(options: &AgentOptions) -> Unterminated {
    match options.unterminated {
        OnUnterminated::Confirm => Unterminated::Confirm,
        OnUnterminated::Execute => Unterminated::Execute,
    }
}

/// How calls are written and executed: what an agent of the options and its subagents have in common.
fn style(options: &AgentOptions) -> Result<AgentBuilder, Error> {
    let tools = match options.tools {
        ToolForm::Text => Tools::Text,
        ToolForm::Native => Tools::Native,
        ToolForm::Both => Tools::Both,
    };
    let described = gadgetry_builtins::NAMES
        .into_iter()
        .chain(["LoadSkill", RUN_AGENT]);
    let search = GadgetSearch {
        when: match options.gadget_search {
            SearchGadgets::Auto => SearchWhen::Auto,
            SearchGadgets::Always => SearchWhen::Always,
            SearchGadgets::Never => SearchWhen::Never,
        },
        described: described.map(str::to_owned).collect(),
    };
    let blocks = Blocks::of_run(&options.format, options.model.name())?;
    let max_concurrent = options
        .max_concurrent
        .map_or_else(room_for_processes, |limit| clamp(limit.get()));
    let mut agent = Agent::builder()
        .tools(tools)
        .unterminated(unterminated(options))
        .reasoning_tags(options.model.reasoning_tags.0.clone())
        .reasoning_open(options.model.reasoning_open)
        .markers(blocks.markers)
        .anchoring(blocks.anchoring)
        .constrained(options.constrain == WhenConstrained::Auto)
        .max_concurrent(max_concurrent);
    if let Some(form) = options.form {
        agent = agent.form(form);
    }
    if let Some(count) = options.examples {
        agent = agent.examples(count.into());
    }
    agent = agent.gadget_search(search);
    if options.no_stop_early {
        agent = agent.stop_early(StopEarly::NEVER);
    }
    agent = match options.output_limit {
        OutputLimit::Percent(percent) => agent.output_limit_percent(percent),
        OutputLimit::Off => agent.without_output_limit(),
    };
    agent = match connect::retry(&options.model) {
        Some(retry) => agent.retry(retry),
        None => agent.without_retry(),
    };
    let replies = options.max_iterations.map(|limit| clamp(limit.get()));
    agent = agent.max_iterations(replies.unwrap_or(u32::MAX));
    if let Some(limit) = options.max_gadgets_per_response {
        agent = agent.max_gadgets_per_reply(clamp(limit.get()));
    }
    if let Some(dialects) = &options.dialects {
        agent = agent.dialects(dialects.clone());
    }
    for tag in &options.tags {
        agent = agent.custom_block(CustomBlock::new(tag));
    }
    Ok(agent)
}

/// The agent that the options describe, without gadgets.
fn builder(
    options: &AgentOptions,
    model: Arc<dyn Model>,
    style: AgentBuilder,
    situation: Situation,
) -> AgentBuilder {
    let mut agent = style.model(model);
    if let Some(limits) = options.rates.limits() {
        agent = agent.rate_limits(limits);
    }
    if let Some(system) = system(options, &situation.project) {
        agent = agent.system(system);
    }
    if let Some(dollars) = options.budget {
        agent = agent.budget(dollars);
    }
    if let Some(human) = situation.human {
        agent = agent.on_human_input(move |question: HumanQuestion| {
            let human = Arc::clone(&human);
            async move { human.ask(question).await }
        });
    } else if let Some(asker) = situation.asker {
        agent = agent.on_human_input(move |question: HumanQuestion| {
            let asker = Arc::clone(&asker);
            async move { asker.ask(question.text).await }
        });
    }
    if !situation.observers.is_empty() {
        agent = agent.observer(merge(situation.observers));
    }
    if logging::is_on() {
        agent = agent.observer(Logging);
    }
    #[cfg(feature = "otel")]
    if let Some(spans) = telemetry::spans() {
        agent = agent.hook(spans);
    }
    #[cfg(feature = "inspect")]
    if let Some(inspector) = inspection::inspector() {
        agent = agent.hook(inspector);
    }
    agent
}

/// The system prompt: the user's, and after it what is known about the project.
fn system(options: &AgentOptions, project: &Project) -> Option<String> {
    let own = options.model.system.as_deref().unwrap_or_default();
    let parts = [own, &project.context].into_iter();
    let parts: Vec<&str> = parts.filter(|it| !it.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// A mistake in the options, in the words of the command line.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the others do not speak of methods"
)]
fn mistake(options: &AgentOptions, error: AgentError) -> Error {
    let model = options.model.name();
    match error {
        AgentError::NoNativeTools { .. } => Error::input(format_args!(
            "{model} does not support native tool calls; omit --tools"
        )),
        AgentError::NoPrice { .. } => Error::input(format_args!(
            "--budget needs a model with a known price, and the price of {model} is unknown; `gadgetry models` lists known prices"
        )),
        AgentError::Gadget(error) => options.source.at_fault(error),
        AgentError::Plan(PlanError::Viewer(error)) => options.source.at_fault(format_args!(
            "{error}; rename the gadget, or add --output-limit off"
        )),
        error => Error::input(error),
    }
}

/// Programs at the same time for which the system has files to open, each with pipes of its own.
fn room_for_processes() -> u32 {
    const FILES_EACH: u64 = 5;
    const OURS: u64 = 64;
    #[cfg(unix)]
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    let files = Some(512);
    let room = files.unwrap_or(u64::MAX).saturating_sub(OURS) / FILES_EACH;
    u32::try_from(room.clamp(1, 1000)).unwrap_or(1)
}

fn clamp(limit: usize) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}
