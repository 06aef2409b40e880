//! Plans of runs: configuration, gadgets and code, validated once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::block::Markers;
use crate::call_form::CallForm;
use crate::convo::viewer;
use crate::dialect::Dialect;
use crate::error::{Classified, Fault};
use crate::event::RunInfo;
use crate::grammar::ModelSize;
use crate::message::{Constraint, ToolChoice};
use crate::prompt::{WorkedTurns, custom_block_listing, search, with_entries};
use crate::reply::{Format, ReplyStage};
use crate::run::config::{RunConfig, call_style};
use crate::run::constraints::Constraints;
use crate::run::ephemeral::{EphemeralMessage, MakeEphemeralMessage, RunStatus};
use crate::run::interceptor::Interceptor;
use crate::run::question::Asks;
use crate::schema::{Registry, RegistryError};
use crate::tags::{BlockCode, BlockConfig, BlockMode, CustomBlock, Names, TagNameError};
use crate::transform::TransformFactory;

/// The code of a run. It cannot be stored, so it is given again with a stored [`RunConfig`].
#[derive(Clone, Default)]
pub struct Code {
    /// Rewrites of the deltas after the custom blocks; each reply gets new ones, in this order.
    pub transforms: Vec<TransformFactory>,
    /// Rewrites of texts, parameters and results, in order.
    pub interceptors: Vec<Arc<dyn Interceptor>>,
    /// The code of custom blocks, by [tag](crate::tags::BlockConfig::xml_tag).
    pub blocks: BTreeMap<String, BlockCode>,
    /// The closures that [`EphemeralMessage::Code`] names.
    pub trailing: BTreeMap<String, MakeEphemeralMessage>,
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code")
            .field("transforms", &self.transforms.len())
            .field("interceptors", &self.interceptors.len())
            .field("blocks", &self.blocks)
            .field("trailing", &self.trailing.keys())
            .finish()
    }
}

/// The plan of runs: a [`RunConfig`], the gadgets and the [`Code`]. Validated once, shared by any number of runs.
///
/// ```
/// use gadgetry_proto::run::{Run, RunConfig};
/// use gadgetry_proto::schema::Registry;
///
/// let config = RunConfig { max_iterations: 3, ..RunConfig::default() };
/// let plan = config.plan(Registry::default())?;
/// let (one, other) = (Run::ask(&plan, "Hello"), Run::ask(&plan, "Good evening"));
/// assert_eq!(one.plan().config(), other.plan().config());
/// # Ok::<(), gadgetry_proto::run::PlanError>(())
/// ```
#[derive(Clone)]
pub struct Plan {
    pub(super) config: RunConfig,
    /// The gadgets, the viewer included.
    pub(super) registry: Arc<Registry>,
    /// Whether the run answers calls of the viewer itself.
    pub(super) has_viewer: bool,
    /// Gadgets that the system message does not describe.
    hidden: Arc<[String]>,
    pub(super) code: Arc<Code>,
    /// The identity of the run.
    pub(super) info: Option<Arc<RunInfo>>,
    /// The reply stage before the first reply.
    pub(super) stage: ReplyStage,
    /// The system message about gadgets.
    pub(super) gadget_instructions: Arc<str>,
    /// The system message about custom blocks.
    pub(super) block_instructions: Arc<str>,
    /// The turns that each request shows before the conversation.
    pub(super) worked_turns: Arc<WorkedTurns>,
    /// The constraints of replies, by the choice: made when they are first needed.
    pub(super) constraints: Arc<Constraints>,
}

/// The settings that differ between runs of one [`Plan`].
///
/// None of it can make a plan invalid. [`Plan::with`] applies it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunOptions {
    /// Replaces [`RunConfig::budget`].
    pub budget: Option<f64>,
    /// Replaces the seed of [`RunConfig::retry`].
    pub retry_seed: Option<u64>,
    /// Replaces [`RunConfig::markers`], for a conversation whose blocks have others.
    pub markers: Option<Markers>,
    /// Replaces [`RunConfig::asks`], for a run whose questions are answered in another way.
    pub asks: Option<Asks>,
    /// The identity of the run. Its id is in every event.
    pub info: Option<Arc<RunInfo>>,
}

impl RunConfig {
    /// The plan of runs without code, ready to be shared.
    ///
    /// # Errors
    ///
    /// As [`Plan::new`].
    pub fn plan(self, registry: impl Into<Arc<Registry>>) -> Result<Arc<Plan>, PlanError> {
        Plan::new(self, registry, Code::default()).map(Arc::new)
    }
}

impl Plan {
    /// Validates all of it.
    ///
    /// # Errors
    ///
    /// If the tags, the viewer, or the tool choice cannot be used, and if `config` names code that `code` does not
    /// have, or the other way round. All of these are mistakes of the caller.
    pub fn new(
        mut config: RunConfig,
        registry: impl Into<Arc<Registry>>,
        code: Code,
    ) -> Result<Self, PlanError> {
        if config.form == CallForm::Json {
            config.dialects.include(Dialect::Hermes);
        }
        let mut registry = registry.into();
        if let Some(name) = &mut config.answer_gadget {
            registered(name, &registry)?;
        }
        let has_viewer = config.output_limit.is_some() && !registry.is_empty();
        if has_viewer {
            Arc::make_mut(&mut registry)
                .add(viewer::spec())
                .map_err(PlanError::Viewer)?;
        }
        let hidden = hidden(&config, &registry);
        if !hidden.is_empty() {
            let spec = search::spec(&registry, &hidden);
            Arc::make_mut(&mut registry)
                .add(spec)
                .map_err(PlanError::Search)?;
        }
        if let ToolChoice::Gadget(name) = &mut config.tool_choice {
            registered(name, &registry)?;
        }
        let custom_blocks = custom_blocks(&config, &code)?;
        check_trailing(&config, &code)?;
        let format = Format {
            markers: markers_read(&config),
            anchoring: config.anchoring,
            tags: Vec::new(),
            reasoning: config.reasoning_tags.clone(),
            reasoning_open: config.reasoning_open,
            limits: config.limits.clone(),
        };
        let stage = ReplyStage::new(format, custom_blocks, Some(Arc::clone(&registry)))?;
        let listing = custom_block_listing(&config.custom_blocks);
        Ok(Self {
            gadget_instructions: gadget_instructions(&config, &registry, &hidden),
            worked_turns: worked_turns(&config, &registry, &hidden),
            hidden: hidden.into(),
            block_instructions: listing.unwrap_or_default().into(),
            constraints: Arc::default(),
            config,
            registry,
            has_viewer,
            code: Arc::new(code),
            info: None,
            stage,
        })
    }

    /// Returns `true` if a question or an interceptor may show the parameters of a call after its start.
    pub(super) fn shows_calls(&self) -> bool {
        let asks = &self.config.asks;
        asks.after_gadget || asks.human || !self.code.interceptors.is_empty()
    }

    /// The same plan with these options. Nothing is validated or compiled again but the search for changed markers.
    #[must_use]
    pub fn with(&self, options: RunOptions) -> Self {
        let mut plan = self.clone();
        let RunOptions {
            budget,
            retry_seed,
            markers,
            asks,
            info,
        } = options;
        plan.info = info.or(plan.info);
        plan.config.budget = budget.or(plan.config.budget);
        plan.config.asks = asks.unwrap_or(plan.config.asks);
        if let Some((retry, seed)) = plan.config.retry.as_mut().zip(retry_seed) {
            retry.seed = seed;
        }
        if let Some(markers) = markers.filter(|markers| *markers != plan.config.markers) {
            plan.config.markers = markers;
            let config = &plan.config;
            plan.stage = self
                .stage
                .with_markers(markers_read(config), config.anchoring);
            plan.gadget_instructions = gadget_instructions(config, &plan.registry, &plan.hidden);
            plan.worked_turns = worked_turns(config, &plan.registry, &plan.hidden);
            plan.constraints = Arc::default();
        }
        plan
    }

    /// Returns the constraint of a reply to a request with this choice.
    pub(super) fn constraint(&self, choice: &ToolChoice, has_outputs: bool) -> Option<Constraint> {
        let is_useless = self.has_viewer && !has_outputs;
        let without = is_useless.then_some(viewer::NAME);
        self.constraints
            .of(choice, without, &self.config, &self.registry)
    }

    /// The configuration. [`RunConfig::tool_choice`] and [`RunConfig::answer_gadget`] have the names of gadgets as they were registered.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// The gadgets, with the viewer if there is one.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Returns `true` if the registry has the viewer of long results, which the run adds and answers itself.
    pub fn has_viewer(&self) -> bool {
        self.has_viewer
    }

    /// Returns `true` if the registry has the gadget that finds others, which the run adds and answers itself.
    pub fn has_search(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// Returns the identity of the run, if its [options](RunOptions::info) have one.
    pub fn info(&self) -> Option<&Arc<RunInfo>> {
        self.info.as_ref()
    }

    /// Returns `true` if the run is one call that no model has written.
    pub(super) fn is_single_call(&self) -> bool {
        self.info.as_ref().is_some_and(|info| info.single_call)
    }

    /// The code.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The messages that only the next request carries.
    pub(super) fn trailing<'a>(
        &'a self,
        standing: &'a RunStatus,
    ) -> impl Iterator<Item = String> + 'a {
        let all = self.config.trailing.iter();
        all.filter_map(|trailing| match trailing {
            EphemeralMessage::Code(name) => self.code.trailing.get(name)?(standing),
            EphemeralMessage::Text(_)
            | EphemeralMessage::Iterations(_)
            | EphemeralMessage::Parallel(_) => trailing.message(standing),
        })
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan")
            .field("config", &self.config)
            .field("registry", &self.registry)
            .field("code", &self.code)
            .finish_non_exhaustive()
    }
}

/// Error for an invalid plan: a mistake in the configuration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Two custom blocks share a tag, or one is not a valid tag.
    #[error(transparent)]
    Tags(#[from] TagNameError),
    /// The output limit needs a gadget whose name is taken.
    #[error(
        "the output limit brings a gadget of its own: {0}; rename yours, or switch the limit off"
    )]
    Viewer(RegistryError),
    /// The gadget search needs a gadget whose name is taken.
    #[error(
        "the gadget search brings a gadget of its own: {0}; rename yours, or switch the search off"
    )]
    Search(RegistryError),
    /// The model must call a gadget that the run does not have.
    #[error(
        "the tool choice names the gadget {0:?}, which the run does not have; add the gadget, or name another one"
    )]
    ToolChoice(String),
    /// The configuration names code that was not given.
    #[error("the configuration needs the code of {0}; add it to `Code`")]
    MissingCode(String),
    /// Code was given that the configuration does not name.
    #[error(
        "there is code of {0}, which the configuration does not have; remove it, or correct the name"
    )]
    UnknownCode(String),
}

impl Classified for PlanError {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

/// Gives the gadget that the model must call the name under which the provider knows it.
fn registered(name: &mut String, registry: &Registry) -> Result<(), PlanError> {
    let gadget = registry.get(name);
    let gadget = gadget.ok_or_else(|| PlanError::ToolChoice(name.clone()))?;
    gadget.name().clone_into(name);
    Ok(())
}

fn custom_blocks(config: &RunConfig, code: &Code) -> Result<Vec<CustomBlock>, PlanError> {
    let named = |tag: &str| format!("the custom block <{tag}>");
    let tags = config.custom_blocks.iter().map(BlockConfig::xml_tag);
    let tags: Vec<String> = tags.map(str::to_owned).collect();
    // First, because code is found by tag.
    Names::new(&tags, &config.reasoning_tags, config.limits.tag_name)?;
    if let Some(tag) = code.blocks.keys().find(|tag| !tags.contains(tag)) {
        return Err(PlanError::UnknownCode(named(tag)));
    }
    let join = |block: &BlockConfig| {
        let tag = block.xml_tag();
        let own = code.blocks.get(tag).cloned().unwrap_or_default();
        CustomBlock::from_parts(block.clone(), own).ok_or_else(|| match block.mode {
            BlockMode::Map => PlanError::MissingCode(named(tag)),
            BlockMode::Keep | BlockMode::Suppress | BlockMode::Reasoning => {
                PlanError::UnknownCode(named(tag))
            }
        })
    };
    config.custom_blocks.iter().map(join).collect()
}

fn check_trailing(config: &RunConfig, code: &Code) -> Result<(), PlanError> {
    let named = |name: &str| format!("the trailing message {name:?}");
    let names = || {
        config.trailing.iter().filter_map(|it| match it {
            EphemeralMessage::Code(name) => Some(name),
            EphemeralMessage::Text(_)
            | EphemeralMessage::Iterations(_)
            | EphemeralMessage::Parallel(_) => None,
        })
    };
    if let Some(name) = names().find(|name| !code.trailing.contains_key(*name)) {
        return Err(PlanError::MissingCode(named(name)));
    }
    match code
        .trailing
        .keys()
        .find(|name| names().all(|it| it != *name))
    {
        Some(name) => Err(PlanError::UnknownCode(named(name))),
        None => Ok(()),
    }
}

/// The markers that the scanner looks for; none where the model calls gadgets through its provider's interface.
fn markers_read(config: &RunConfig) -> Option<Markers> {
    config.tools.reads_blocks().then(|| config.markers.clone())
}

/// The gadgets that the system message does not describe.
fn hidden(config: &RunConfig, registry: &Registry) -> Vec<String> {
    if config.tools.is_native() {
        return Vec::new();
    }
    let mut hidden = config.gadget_search.hidden(registry, config.context_window);
    // Results name the viewer, and the run ends with its answer, so both are described.
    hidden.retain(|name| name != viewer::NAME && config.answer_gadget.as_ref() != Some(name));
    hidden
}

fn gadget_instructions(config: &RunConfig, registry: &Registry, hidden: &[String]) -> Arc<str> {
    if !config.tools.reads_blocks() {
        return Arc::default();
    }
    let brief = || WorkedTurns::brief(&config.prompt, config.form);
    let prompt = match config.examples {
        0 => Cow::Borrowed(&config.prompt),
        _ => Cow::Owned(brief()),
    };
    let shown = shown(config, registry, hidden);
    let text = prompt.render_registry(&shown, call_style(config));
    text.unwrap_or_default().into()
}

/// The gadgets that the prompt describes. A small model whose calls are constrained reads of the viewer in the notice that names it: the
/// grammar knows its parameters, and a gadget in the prompt is one more that such a model calls for nothing.
fn shown<'r>(config: &RunConfig, registry: &'r Registry, hidden: &[String]) -> Cow<'r, Registry> {
    let mut hidden = Cow::Borrowed(hidden);
    let is_constrained = config.constrain.is_some() && config.model_size == ModelSize::Small;
    if is_constrained && config.output_limit.is_some() {
        hidden.to_mut().push(viewer::NAME.to_owned());
    }
    if hidden.is_empty() {
        Cow::Borrowed(registry)
    } else {
        Cow::Owned(registry.without(&hidden))
    }
}

fn worked_turns(config: &RunConfig, registry: &Registry, hidden: &[String]) -> Arc<WorkedTurns> {
    if !config.tools.reads_blocks() || config.examples == 0 {
        return Arc::default();
    }
    let style = call_style(config);
    let turns = with_entries(&shown(config, registry, hidden), style, |entries| {
        WorkedTurns::new(config.examples, entries, style)
    });
    Arc::new(turns)
}
