//! The configuration of a run: plain data.

use serde::{Deserialize, Serialize};

use crate::block::{Anchoring, Markers};
use crate::call_form::CallForm;
use crate::convo::compaction::Compaction;
use crate::dialect::Dialects;
use crate::grammar::ModelSize;
use crate::limits::Limits;
use crate::message::{Notation, Sampling, ToolChoice};
use crate::prompt::{CallStyle, GadgetSearch, PromptTemplate};
use crate::reply::StopEarly;
use crate::run::ephemeral::EphemeralMessage;
use crate::run::question::Asks;
use crate::run::retry::Retry;
use crate::sched;
use crate::schema::Unterminated;
use crate::tags::BlockConfig;
use crate::usage::Price;

/// The configuration of a run, without its gadgets and without code.
///
/// A [`Plan`](crate::run::Plan) is made of it, of the gadgets and of the [`Code`](crate::run::Code) that it names.
/// It can be stored: fields with their default value are left out, and an unknown field is an error that names it.
///
/// ```
/// use gadgetry_proto::run::RunConfig;
/// let config: RunConfig = serde_json::from_str(r#"{"system": "Be brief.", "maxIterations": 3}"#)?;
/// assert_eq!(config, RunConfig { system: Some("Be brief.".into()), max_iterations: 3, ..RunConfig::default() });
/// assert_eq!(serde_json::to_string(&config)?, r#"{"system":"Be brief.","maxIterations":3}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RunConfig {
    /// Instructions of the application; the text about gadgets and tags follows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The words around the gadget catalog.
    #[serde(skip_serializing_if = "is_default")]
    pub prompt: PromptTemplate,
    /// The choice whether the system message describes all gadgets, or the model looks most of them up.
    #[serde(skip_serializing_if = "is_default")]
    pub gadget_search: GadgetSearch,
    /// The interface by which the model calls gadgets.
    #[serde(skip_serializing_if = "is_default")]
    pub tools: Tools,
    /// The form of calls in the text of replies. In [`CallForm::Json`], calls of that form are executed, whatever `dialects` names.
    #[serde(skip_serializing_if = "is_default")]
    pub form: CallForm,
    /// Number of worked turns that each request shows before the conversation, for small models. Then the gadgets are listed in the user's
    /// first message, and not in the system message. See [`WorkedTurns`](crate::prompt::WorkedTurns).
    #[serde(skip_serializing_if = "is_default")]
    pub examples: usize,
    /// The size of the model. A constrained reply of a small one has limits on its strings and lists.
    #[serde(skip_serializing_if = "is_default")]
    pub model_size: ModelSize,
    /// The choice whether the model must call a gadget, where it calls them through the provider's own interface. A choice that
    /// forces a call holds until a reply of the run has called a gadget; the requests after that are
    /// [`ToolChoice::Auto`], so that the model can answer. [`ToolChoice::None`] holds for the whole run.
    /// A decision about [`QuestionKind::BeforeModelCall`](crate::run::QuestionKind::BeforeModelCall) can change it for
    /// one request.
    #[serde(skip_serializing_if = "is_default")]
    pub tool_choice: ToolChoice,
    /// Name of the gadget whose call is the answer of the run, if it has one. Where replies are constrained and `tool_choice` leaves it to the
    /// model, the last reply that the run may have is a call of it, and replies before that must call any gadget: those of a
    /// small model ([`model_size`](Self::model_size)) always, those of a large one after a reply that called nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_gadget: Option<String>,
    /// The notation by which replies with calls in their text are constrained, if the server of the model does that: to calls that are valid, by
    /// `tool_choice`. Set [`Anchoring::LineStart`] with it, because the text of a constrained reply may have markers within its lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constrain: Option<Notation>,
    /// The markers of gadget blocks.
    #[serde(skip_serializing_if = "is_default")]
    pub markers: Markers,
    /// The places where markers count.
    #[serde(skip_serializing_if = "is_default")]
    pub anchoring: Anchoring,
    /// Tags that are taken out of the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub custom_blocks: Vec<BlockConfig>,
    /// Tags whose content is reasoning: it streams as reasoning, is not part of the answer, and nothing in it is executed.
    /// By default `think` and `thinking`. A custom block of the same tag takes precedence.
    #[serde(skip_serializing_if = "are_default_tags")]
    pub reasoning_tags: Vec<String>,
    /// Whether each reply begins inside the first of `reasoning_tags`, because the prompt template of the model has
    /// opened it. Without this, the text before a closing tag that closes nothing becomes reasoning when that tag
    /// arrives; it has been shown as text until then, and calls in it have been executed.
    #[serde(skip_serializing_if = "is_default")]
    pub reasoning_open: bool,
    /// Other forms of calling that are executed, in the order of the text. Their text is kept back until it is decided and is
    /// not shown. A call in another form, where a reply calls nothing, is reported to the model, so that it calls in the
    /// right form.
    #[serde(skip_serializing_if = "is_default")]
    pub dialects: Dialects,
    /// Caps on what a reply may make the engine hold.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// When a reply is ended although the model has not: at a call that cannot become valid, and at lines that are repeated
    /// without end.
    #[serde(skip_serializing_if = "is_default")]
    pub stop_early: StopEarly,
    /// Calls at the same time, calls a reply, one at a time.
    #[serde(skip_serializing_if = "is_default")]
    pub schedule: sched::Config,
    /// Settings of the replies. Summaries have those of the model.
    #[serde(skip_serializing_if = "Sampling::is_default")]
    pub sampling: Sampling,
    /// Maximum number of model replies; 10 by default.
    #[serde(skip_serializing_if = "is_default_iterations")]
    pub max_iterations: u32,
    /// Timeout in milliseconds of a gadget that has none of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_timeout_ms: Option<u64>,
    /// The meaning of a reply without calls.
    #[serde(skip_serializing_if = "is_default")]
    pub text_only: OnTextOnlyReply,
    /// Policy for calls with unmet dependencies.
    #[serde(skip_serializing_if = "is_default")]
    pub on_unmet: UnmetDependencyPolicy,
    /// The prices of the model; without them, model calls count as free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The decisions that are left to a hook or a human.
    #[serde(skip_serializing_if = "is_default")]
    pub asks: Asks,
    /// The treatment of failed model calls; by default, they are not retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Budget in US dollars. Once it is spent, no further request is sent; work in progress completes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// Characters of a result that the model reads at once. Longer ones are stored for the viewer, a gadget that the
    /// run then adds. See [`crate::convo::char_limit`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_limit: Option<usize>,
    /// The context window of the model in tokens, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// The treatment of a conversation that becomes too long; by default, it is left as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
    /// Messages that only one request carries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trailing: Vec<EphemeralMessage>,
    /// Whether the run ends when a gadget fails.
    #[serde(skip_serializing_if = "is_default")]
    pub stop_on_gadget_error: bool,
    /// Policy for a block that only the end of the reply completes, of a gadget that has no policy of its own.
    #[serde(skip_serializing_if = "is_default")]
    pub unterminated: Unterminated,
}

const REASONING_TAGS: [&str; 2] = ["think", "thinking"];
const MAX_ITERATIONS: u32 = 10;

impl Default for RunConfig {
    fn default() -> Self {
        Self {
            system: None,
            prompt: PromptTemplate::default(),
            gadget_search: GadgetSearch::default(),
            tools: Tools::default(),
            form: CallForm::default(),
            examples: 0,
            model_size: ModelSize::default(),
            constrain: None,
            tool_choice: ToolChoice::default(),
            answer_gadget: None,
            markers: Markers::default(),
            anchoring: Anchoring::default(),
            custom_blocks: Vec::new(),
            reasoning_tags: REASONING_TAGS.map(str::to_owned).to_vec(),
            reasoning_open: false,
            dialects: Dialects::default(),
            limits: Limits::default(),
            stop_early: StopEarly::default(),
            sampling: Sampling::default(),
            schedule: sched::Config::default(),
            max_iterations: MAX_ITERATIONS,
            default_timeout_ms: None,
            text_only: OnTextOnlyReply::default(),
            on_unmet: UnmetDependencyPolicy::default(),
            price: None,
            asks: Asks::default(),
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

/// Returns the style of calls that the model is shown.
pub(super) fn call_style(config: &RunConfig) -> CallStyle<'_> {
    CallStyle {
        form: config.form,
        markers: &config.markers,
        anchoring: config.anchoring,
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn are_default_tags(tags: &[String]) -> bool {
    tags == REASONING_TAGS
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_default_iterations(replies: &u32) -> bool {
    *replies == MAX_ITERATIONS
}

/// The interface by which a model calls gadgets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Tools {
    /// The model writes blocks, which the system message describes. A call that arrives through the provider's own interface
    /// anyway, because the server has made one of the text, is executed like a block, with a diagnostic.
    #[default]
    Text,
    /// Through the provider's own interface, which has to know the gadgets. Blocks are ordinary text.
    Native,
    /// Either way: the provider knows the gadgets, and the system message describes blocks.
    Both,
}

impl Tools {
    /// Returns `true` if blocks in the text of a reply are calls.
    pub fn reads_blocks(self) -> bool {
        matches!(self, Self::Text | Self::Both)
    }

    /// Returns `true` if the provider has to know the gadgets.
    pub fn is_native(self) -> bool {
        matches!(self, Self::Native | Self::Both)
    }
}

/// The meaning of a reply without calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnTextOnlyReply {
    /// The run is done.
    #[default]
    Terminate,
    /// The reply is kept, and the model continues.
    Acknowledge,
    /// The reply is kept, and the model continues after this message of the user: for a run that only a gadget may end.
    Remind(String),
    /// The user gives the next message; see [`Asks::human`]. Without a human, the run is done.
    WaitForInput,
}

/// Policy for calls with unmet dependencies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnmetDependencyPolicy {
    /// The call is skipped.
    #[default]
    Skip,
    /// The call runs without the dependency.
    Execute,
    /// This is its result.
    Fallback(String),
}
