//! Treatment of one model.

use gadgetry_proto::block::Markers;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::dialect::{Dialect, Dialects};
use gadgetry_providers::model::Mode;
use gadgetry_providers::model::{ConstraintField, ModelInfo};
use serde::Deserialize;

/// Interface through which a model calls tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolMode {
    /// As blocks in its text.
    #[default]
    Text,
    /// Through the upstream's own interface. Calls are validated and repaired as well.
    Native,
    /// Natively, if a probe at the first request shows that the model can; as blocks otherwise.
    Auto,
}

/// Style of the markers of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkerStyle {
    /// With words that are different for each conversation, so that only this model's own text can have them. They are derived
    /// from the conversation and a secret of the process, so they change when the process restarts.
    #[default]
    Nonce,
    /// Markers of the specification, for weak models.
    Plain,
}

/// Treatment of one model. The defaults suit most models.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelRules {
    /// Interface through which the model calls tools.
    pub mode: ToolMode,
    /// The form of calls that the prompt demands. `None` means JSON for a model whose server says that it is small, and blocks for
    /// others.
    pub form: Option<CallForm>,
    /// Number of worked turns that the prompt shows before the conversation, at most two: small models follow examples better than
    /// instructions. `None` means two for a model whose server says that it is small, and none for others.
    pub examples: Option<usize>,
    /// The markers of blocks.
    pub markers: MarkerStyle,
    /// The reasoning in the text.
    pub reasoning: ReasoningTags,
    /// Tags that are removed from the text, content included.
    pub strip_tags: Vec<String>,
    /// Other forms of calls that are read in the text. By default, all that are marked by a wrapper, or are JSON with the name of
    /// a tool.
    pub dialects: Dialects,
    /// Maximum number of times that the model may correct the calls of a reply.
    pub repairs: u32,
    /// `true` if a reply is ended at a call that can no longer become valid, and at lines that repeat without end.
    pub stop_early: bool,
    /// The chat template of the model.
    pub template: ChatTemplate,
    /// `true` if the model reads images.
    pub images: bool,
    /// `true` if the gateway itself sends a call that waited for others to the client, once their results have arrived.
    pub run_dependencies: bool,
    /// Constraint of replies to valid calls.
    pub constrain: Constrain,
}

impl Default for ModelRules {
    fn default() -> Self {
        Self {
            mode: ToolMode::Text,
            form: None,
            examples: None,
            markers: MarkerStyle::Nonce,
            reasoning: ReasoningTags::default(),
            strip_tags: Vec::new(),
            dialects: Dialects::marked(),
            repairs: 1,
            stop_early: true,
            template: ChatTemplate::default(),
            images: true,
            run_dependencies: false,
            constrain: Constrain::Auto,
        }
    }
}

/// Tags of reasoning in the text of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasoningTags {
    /// Tags whose content is reasoning.
    pub tags: Vec<String>,
    /// `true` if the template of the model opens the first of them.
    pub is_open: bool,
}

impl Default for ReasoningTags {
    fn default() -> Self {
        Self {
            tags: vec!["think".to_owned(), "thinking".to_owned()],
            is_open: false,
        }
    }
}

/// Properties of a model's chat template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatTemplate {
    /// `true` if it has a system role. Otherwise the first message of the user begins with the system's text.
    pub system_role: bool,
    /// `true` if messages of the user and of the model must alternate.
    pub alternate: bool,
    /// `true` if the server continues a message of the assistant at the end of a request. A required call then begins there.
    pub prefill: bool,
}

impl Default for ChatTemplate {
    fn default() -> Self {
        Self {
            system_role: true,
            alternate: true,
            prefill: false,
        }
    }
}

/// Defines the patch of the rules: a key for each, with its field in [`ModelRules`].
macro_rules! patch {
    ($($key:ident: $type:ty => $($field:ident).+;)+) => {
        /// A subset of the rules, from files and options.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct RulesPatch {
            $(#[doc = concat!("Sets `", stringify!($($field).+), "` of [`ModelRules`].")] pub $key: Option<$type>,)+
        }

        /// Sets every rule.
        impl From<ModelRules> for RulesPatch {
            fn from(rules: ModelRules) -> Self {
                Self { $($key: Some(rules.$($field).+),)+ }
            }
        }

        impl RulesPatch {
            /// Returns `rules` with the ones that are set here.
            #[must_use]
            pub fn applied_to(&self, rules: &ModelRules) -> ModelRules {
                let mut rules = rules.clone();
                $(if let Some(value) = &self.$key {
                    rules.$($field).+.clone_from(value);
                })+
                rules
            }

            /// Returns the rules that are set here, and those of a weaker patch for the others.
            #[must_use]
            pub fn over(&self, weaker: &Self) -> Self {
                Self { $($key: self.$key.clone().or_else(|| weaker.$key.clone()),)+ }
            }
        }
    };
}

patch! {
    mode: ToolMode => mode;
    form: Option<CallForm> => form;
    examples: Option<usize> => examples;
    markers: MarkerStyle => markers;
    reasoning_tags: Vec<String> => reasoning.tags;
    reasoning_open: bool => reasoning.is_open;
    strip_tags: Vec<String> => strip_tags;
    dialects: Dialects => dialects;
    repairs: u32 => repairs;
    stop_early: bool => stop_early;
    system_role: bool => template.system_role;
    alternate: bool => template.alternate;
    images: bool => images;
    run_dependencies: bool => run_dependencies;
    prefill: bool => template.prefill;
    constrain: Constrain => constrain;
}

impl ModelRules {
    /// Returns these rules for a model with these known facts, with all open rules decided.
    #[must_use]
    pub fn settled(&self, info: &ModelInfo) -> Self {
        // Its prompt ends within its reply, and it has no tools.
        let completes = info.mode == Mode::Completion;
        Self {
            form: Some(self.form.unwrap_or_else(|| info.usual_form())),
            examples: Some(self.examples.unwrap_or_else(|| info.usual_examples())),
            constrain: match self.constrain {
                Constrain::Auto => info.constraint.into(),
                own => own,
            },
            mode: if completes { ToolMode::Text } else { self.mode },
            template: ChatTemplate {
                prefill: self.template.prefill || completes,
                ..self.template
            },
            ..self.clone()
        }
    }

    /// Returns the form of calls that its prompt demands.
    pub(crate) fn call_form(&self) -> CallForm {
        self.form.unwrap_or_default()
    }

    /// Returns the number of worked turns that the prompt shows.
    pub(crate) fn worked_turns(&self) -> usize {
        self.examples.unwrap_or(0)
    }

    /// Returns the request field for constraints.
    pub(crate) fn constraint(&self) -> ConstraintField {
        match self.constrain {
            Constrain::Auto | Constrain::Off => ConstraintField::None,
            Constrain::LlamaCpp => ConstraintField::LlamaCpp,
            Constrain::Vllm => ConstraintField::Vllm,
            Constrain::Sglang => ConstraintField::Sglang,
        }
    }

    /// Returns the dialects that are calls in its text: those of `dialects`, and the form that its prompt demands.
    pub(crate) fn dialects_read(&self) -> Dialects {
        let mut all = self.dialects.clone();
        if self.call_form() == CallForm::Json {
            all.include(Dialect::Hermes);
        }
        all
    }
}

/// Constraint of replies to valid calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constrain {
    /// Through the field of the model's server, if the server is recognised.
    #[default]
    Auto,
    /// No constraint.
    Off,
    /// Through the field `grammar` of llama.cpp.
    LlamaCpp,
    /// Through the field `structured_outputs` of vLLM.
    Vllm,
    /// Through the field `ebnf` of `SGLang`.
    Sglang,
}

impl From<ConstraintField> for Constrain {
    fn from(field: ConstraintField) -> Self {
        match field {
            ConstraintField::LlamaCpp => Self::LlamaCpp,
            ConstraintField::Vllm => Self::Vllm,
            ConstraintField::Sglang => Self::Sglang,
            _ => Self::Off,
        }
    }
}

/// The secrets of a conversation, which data in it must not contain: its markers, and words in the envelopes of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secrets {
    /// The markers of blocks.
    pub markers: Markers,
    /// The words in envelopes.
    pub word: String,
}

impl Secrets {
    /// Derives the secrets from a secret seed: all requests with the same seed have the same secrets, so that prompts stay equal.
    pub fn new(style: MarkerStyle, seed: u64) -> Self {
        let nonce = Markers::nonce(seed);
        let word = nonce.words().unwrap_or_default().to_owned();
        let markers = match style {
            MarkerStyle::Nonce => nonce,
            MarkerStyle::Plain => Markers::default(),
        };
        Self { markers, word }
    }
}
