//! How one model is treated.

use gadgetry_proto::block::Markers;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::dialect::{Dialect, Dialects};
use gadgetry_providers::model::Mode;
use gadgetry_providers::model::{ConstraintField, ModelInfo};
use serde::Deserialize;

/// How a model calls tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolMode {
    /// By blocks in its text.
    #[default]
    Text,
    /// Through the upstream's own interface. Its calls are validated and repaired all the same.
    Native,
    /// Natively, if a probe at the first request shows that it can; by blocks otherwise.
    Auto,
}

/// Which markers blocks have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkerStyle {
    /// With a secret of the gateway in them, so that only this model's own text can have them.
    #[default]
    Nonce,
    /// Those of the specification, for weak models.
    Plain,
}

/// Defines the rules, and the same with every one optional, as files and options give them.
macro_rules! rules {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr;)+) => {
        /// How one model is treated. The defaults suit most.
        #[derive(Clone, Debug, PartialEq)]
        pub struct ModelRules {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        impl Default for ModelRules {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        /// Rules of which some are set.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
        pub struct RulesPatch {
            $($(#[doc = $doc])+ pub $name: Option<$type>,)+
        }

        /// Sets every rule.
        impl From<ModelRules> for RulesPatch {
            fn from(rules: ModelRules) -> Self {
                Self { $($name: Some(rules.$name),)+ }
            }
        }

        impl RulesPatch {
            /// The rules with those that are set here.
            #[must_use]
            pub fn applied_to(&self, rules: &ModelRules) -> ModelRules {
                ModelRules { $($name: self.$name.clone().unwrap_or_else(|| rules.$name.clone()),)+ }
            }

            /// The rules that are set here, and those of a weaker patch where none is.
            #[must_use]
            pub fn over(&self, weaker: &Self) -> Self {
                Self { $($name: self.$name.clone().or_else(|| weaker.$name.clone()),)+ }
            }
        }
    };
}

rules! {
    /// How it calls tools.
    mode: ToolMode = ToolMode::Text;
    /// The form of calls that its prompt demands. `None` means JSON for a model whose server says that it is small, and blocks for
    /// others.
    form: Option<CallForm> = None;
    /// How many worked turns its prompt shows before the conversation, at most two: small models follow examples better than
    /// instructions. `None` means two for a model whose server says that it is small, and none for others.
    examples: Option<usize> = None;
    /// Which markers its blocks have.
    markers: MarkerStyle = MarkerStyle::Nonce;
    /// Tags whose content is reasoning.
    reasoning_tags: Vec<String> = vec!["think".to_owned(), "thinking".to_owned()];
    /// Whether its template has opened the first of them.
    reasoning_open: bool = false;
    /// Tags that are removed from its text, content included.
    strip_tags: Vec<String> = Vec::new();
    /// Other forms of calls that are understood in its text. By default all that a wrapper, or JSON with the name of a tool,
    /// marks.
    dialects: Dialects = Dialects::marked();
    /// How often it may correct the calls of a reply.
    repairs: u32 = 1;
    /// Whether its reply is ended at a call that cannot become valid any more, and at lines that repeat without end.
    stop_early: bool = true;
    /// Whether its template has a system role. Otherwise the first message of the user begins with the system's text.
    system_role: bool = true;
    /// Whether messages of the user and of the model must alternate.
    alternate: bool = true;
    /// Whether it reads images.
    images: bool = true;
    /// Whether a call that waited for others is sent to the client by the gateway once their results are there.
    run_dependencies: bool = false;
    /// Whether its server continues a message of the assistant at the end of a request, so that a call that must be made is
    /// begun there.
    prefill: bool = false;
    /// How replies are constrained to valid calls, if at all.
    constrain: Constrain = Constrain::Auto;
}

impl ModelRules {
    /// These rules for a model of which this is known: what they leave open is decided.
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
            prefill: self.prefill || completes,
            ..self.clone()
        }
    }

    /// The form of calls that its prompt demands.
    pub(crate) fn call_form(&self) -> CallForm {
        self.form.unwrap_or_default()
    }

    /// How many worked turns its prompt shows.
    pub(crate) fn worked_turns(&self) -> usize {
        self.examples.unwrap_or(0)
    }

    /// The field that takes constraints.
    pub(crate) fn constraint(&self) -> ConstraintField {
        match self.constrain {
            Constrain::Auto | Constrain::Off => ConstraintField::None,
            Constrain::LlamaCpp => ConstraintField::LlamaCpp,
            Constrain::Vllm => ConstraintField::Vllm,
            Constrain::Sglang => ConstraintField::Sglang,
        }
    }

    /// The dialects that are calls in its text: those of `dialects`, and the form that its prompt demands.
    pub(crate) fn dialects_read(&self) -> Dialects {
        let mut all = self.dialects.clone();
        if self.call_form() == CallForm::Json {
            all.include(Dialect::Hermes);
        }
        all
    }
}

/// How replies are constrained to valid calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constrain {
    /// As the server of the model takes it, if it is recognised.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// By the field `grammar` of llama.cpp.
    LlamaCpp,
    /// By the field `structured_outputs` of vLLM.
    Vllm,
    /// By the field `ebnf` of `SGLang`.
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

/// The secrets of a conversation that data in it must not know: its markers, and a word in the envelopes of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secrets {
    /// The markers of blocks.
    pub markers: Markers,
    /// The words in envelopes.
    pub word: String,
}

impl Secrets {
    /// Those that follow from a secret seed: the same for all requests with it, so that prompts stay equal.
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
