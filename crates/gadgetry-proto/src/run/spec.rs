//! What a run is made from. Decided once, shared by all its steps, and given again when a saved run is loaded.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::block::{Anchoring, Markers};
use crate::convo::compaction::Compaction;
use crate::dialect::Dialect;
use crate::limits::Limits;
use crate::message::ToolChoice;
use crate::prompt::PromptTemplate;
use crate::run::interceptor::Interceptor;
use crate::run::question::Asks;
use crate::run::retry::Retry;
use crate::run::trailing::Trailing;
use crate::sched;
use crate::spec::Registry;
use crate::spec::RegistryError;
use crate::spec::Unterminated;
use crate::tags::CustomBlock;
use crate::tags::TagNameError;
use crate::transform::TransformFactory;
use crate::usage::Price;

/// The configuration of a run.
///
/// ```
/// use gadgetry_proto::run::RunSpec;
/// let spec = RunSpec { system: Some("Be brief.".into()), max_iterations: 3, ..RunSpec::default() };
/// assert_eq!(spec.markers.arg(), "!!!ARG:");
/// ```
#[derive(Clone)]
pub struct RunSpec {
    /// The gadgets.
    pub registry: Arc<Registry>,
    /// Instructions of the application; the text about gadgets and tags follows them.
    pub system: Option<String>,
    /// The words around the gadget catalog.
    pub prompt: PromptTemplate,
    /// How the model calls gadgets.
    pub tools: Tools,
    /// Whether the model must call a gadget, where it calls them through the provider's own interface. A choice that
    /// forces a call holds until a reply of the run has called a gadget; the requests after that are
    /// [`ToolChoice::Auto`], so that the model can answer. [`ToolChoice::None`] holds for the whole run.
    /// A decision about [`QuestionKind::BeforeModelCall`](crate::run::QuestionKind::BeforeModelCall) can change it for
    /// one request.
    pub tool_choice: ToolChoice,
    /// The markers of gadget blocks.
    pub markers: Markers,
    /// The markers of gadget blocks.
    /// Where markers count.
    pub anchoring: Anchoring,
    /// Tags that are taken out of the text.
    pub custom_blocks: Vec<CustomBlock>,
    /// Tags whose content is reasoning: it streams as reasoning, is no part of the answer, and nothing in it is executed.
    /// By default `think` and `thinking`. A custom block of the same tag takes precedence.
    pub reasoning_tags: Vec<String>,
    /// Whether each reply begins inside the first of `reasoning_tags`, because the prompt template of the model has
    /// opened it. Without this, the text before a closing tag that closes nothing becomes reasoning when that tag
    /// arrives; it has been shown as text until then, and calls in it have been executed.
    pub reasoning_open: bool,
    /// Other forms of calling that are executed. Their calls are read when the reply is over; their text has been shown by
    /// then. A call in another form, where a reply calls nothing, is told to the model, so that it calls in the right
    /// form.
    pub dialects: Vec<Dialect>,
    /// Rewrites of the deltas behind the custom blocks; each reply gets fresh ones, in this order.
    pub transforms: Vec<TransformFactory>,
    /// Caps on what a reply may make the engine hold.
    pub limits: Limits,
    /// Calls at the same time, calls a reply, one at a time.
    pub schedule: sched::Config,
    /// Replies a model may give; 10 by default.
    pub max_iterations: u32,
    /// Milliseconds a gadget may take that has no timeout of its own.
    pub default_timeout_ms: Option<u64>,
    /// What a reply without calls means.
    pub text_only: TextOnly,
    /// What becomes of a call whose dependency was not met.
    pub on_unmet: OnUnmet,
    /// What the model charges; without it, model calls count as free.
    pub price: Option<Price>,
    /// Which decisions somebody else takes.
    pub asks: Asks,
    /// Rewrites, in order.
    pub interceptors: Vec<Arc<dyn Interceptor>>,
    /// What is done about failed model calls; by default, nothing.
    pub retry: Option<Retry>,
    /// US dollars. Once they are spent, no model is asked any more; what is under way is finished.
    pub budget: Option<f64>,
    /// Characters of a result that the model is shown at once; longer ones are kept for the viewer, which the run
    /// then has. See [`crate::convo::char_limit`].
    pub output_limit: Option<usize>,
    /// Tokens that the model takes in one conversation, if that is known.
    pub context_window: Option<u64>,
    /// What is done about a conversation that becomes too long; by default, nothing.
    pub compaction: Option<Compaction>,
    /// Messages that only one request carries.
    pub trailing: Vec<Trailing>,
    /// Whether the run ends when a gadget fails.
    pub stop_on_gadget_error: bool,
    /// What happens to a block that only the end of the reply completes, of a gadget that does not say it.
    pub unterminated: Unterminated,
}

impl Default for RunSpec {
    fn default() -> Self {
        Self {
            registry: Arc::new(Registry::default()),
            system: None,
            prompt: PromptTemplate::default(),
            tools: Tools::default(),
            tool_choice: ToolChoice::default(),
            markers: Markers::default(),
            anchoring: Anchoring::default(),
            custom_blocks: Vec::new(),
            reasoning_tags: ["think", "thinking"].map(str::to_owned).to_vec(),
            reasoning_open: false,
            dialects: Vec::new(),
            transforms: Vec::new(),
            limits: Limits::default(),
            schedule: sched::Config::default(),
            max_iterations: 10,
            default_timeout_ms: None,
            text_only: TextOnly::default(),
            on_unmet: OnUnmet::default(),
            price: None,
            asks: Asks::default(),
            interceptors: Vec::new(),
            retry: None,
            budget: None,
            output_limit: None,
            context_window: None,
            compaction: None,
            trailing: Vec::new(),
            stop_on_gadget_error: false,
            unterminated: Unterminated::default(),
        }
    }
}

impl fmt::Debug for RunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSpec")
            .field("registry", &self.registry)
            .field("markers", &self.markers)
            .field("anchoring", &self.anchoring)
            .field("custom_blocks", &self.custom_blocks)
            .field("transforms", &self.transforms.len())
            .field("max_iterations", &self.max_iterations)
            .finish_non_exhaustive()
    }
}

/// Why there can be no run of a [`RunSpec`]: a mistake of whoever wrote it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The tags of the custom blocks cannot be told apart, or one is no tag.
    #[error(transparent)]
    Tags(#[from] TagNameError),
    /// The output limit needs a gadget whose name is taken.
    #[error(
        "the output limit brings a gadget of its own: {0}; rename yours, or switch the limit off"
    )]
    Viewer(RegistryError),
    /// The model must call a gadget that the run does not have.
    #[error(
        "the tool choice names the gadget {0:?}, which the run does not have; add the gadget, or name another one"
    )]
    ToolChoice(String),
}

/// How a model calls gadgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tools {
    /// By writing blocks, which the system message describes. A call that arrives through the provider's own interface
    /// anyway, because the server has made one of the text, is executed like a block, with a diagnostic.
    #[default]
    Text,
    /// Through the provider's own interface, which has to know the gadgets. Blocks are ordinary text.
    Native,
    /// Either way: the provider knows the gadgets, and the system message describes blocks.
    Both,
}

impl Tools {
    /// Whether blocks in the text of a reply are calls.
    pub fn reads_blocks(self) -> bool {
        matches!(self, Self::Text | Self::Both)
    }

    /// Whether the provider has to know the gadgets.
    pub fn is_native(self) -> bool {
        matches!(self, Self::Native | Self::Both)
    }
}

/// What a reply without calls means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TextOnly {
    /// The run is done.
    #[default]
    Terminate,
    /// It is kept, and the model goes on.
    Acknowledge,
    /// It is kept, and the model continues after this message of the user: for a run that only a gadget may end.
    Remind(String),
    /// The user is asked what next; see [`Asks::human`]. Without anybody to ask, the run is done.
    WaitForInput,
}

/// What becomes of a call whose dependency was not met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnUnmet {
    /// It is skipped.
    #[default]
    Skip,
    /// It runs without the dependency.
    Execute,
    /// This is its result.
    Fallback(String),
}
