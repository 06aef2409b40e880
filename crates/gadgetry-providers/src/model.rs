//! The seam to a model.

use std::collections::BTreeMap;
use std::fmt;
use std::future::ready;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use gadgetry_proto::call_form::CallForm;
use gadgetry_proto::delta::Delta;
use gadgetry_proto::grammar::ModelSize;
use gadgetry_proto::message::{Notation, Request};
use gadgetry_proto::prompt::MAX_EXAMPLES;
use gadgetry_proto::schema::GadgetSpec;
use gadgetry_proto::tags::CustomBlock;
use gadgetry_proto::transform::TransformFactory;
use gadgetry_proto::usage::Price;
use serde::{Deserialize, Serialize};

/// Something that answers a request with a reply, piece by piece.
///
/// A reply that is whole ends with [`Delta::MessageEnd`]. A stream that ends without it was cut off. Whatever goes
/// wrong, from a refused connection to an overloaded server, is a [`Delta::Error`]; the stream ends after it.
///
/// Messages may hold pictures, sounds and files. [`prompt_text`](gadgetry_proto::convo::prompt_text), a message as text,
/// has a caption for each, so a model that cannot see or hear knows that they are there. Whether to send the media as
/// well is for the backend, which the backends here decide by [`ModelInfo::reads_images`] and
/// [`ModelInfo::reads_audio`].
pub trait Model: Send + Sync {
    /// Starts one reply. The call returns at once; waiting happens in the stream.
    ///
    /// Cancel safety: dropping the stream cancels the reply. Nothing continues in the background.
    fn stream(&self, request: Request) -> BoxStream<'static, Delta>;

    /// The human-readable name of this model.
    fn name(&self) -> &str;

    /// Returns the known facts about the model.
    fn info(&self) -> ModelInfo {
        ModelInfo::default()
    }

    /// Tags that are removed from its replies, before those of the agent. The system message describes them.
    fn custom_blocks(&self) -> Vec<CustomBlock> {
        Vec::new()
    }

    /// The same model, which calls these gadgets through its provider's own interface; `None` if it cannot.
    ///
    /// It gives calls as [`Delta::ToolCallStart`] and what follows, and reads their results as its provider wants them.
    fn with_tools(&self, gadgets: &[GadgetSpec]) -> Option<Arc<dyn Model>> {
        let _ = gadgets;
        None
    }

    /// Rewrites of its deltas after custom blocks were removed, before those of the agent.
    fn transforms(&self) -> Vec<TransformFactory> {
        Vec::new()
    }

    /// Returns the same model with what its server says about it, such as its size and how replies can be constrained; `None` if nothing
    /// more is to be known.
    ///
    /// An agent calls it before each run, so the model remembers what its server has said.
    ///
    /// Cancel safety: dropping the future closes the connections.
    fn recognised(&self) -> BoxFuture<'_, Option<Arc<dyn Model>>> {
        Box::pin(ready(None))
    }
}

/// A pointer to a model is a model.
macro_rules! pointer {
    ($pointer:ident) => {
        impl<M: Model + ?Sized> Model for $pointer<M> {
            fn stream(&self, request: Request) -> BoxStream<'static, Delta> {
                (**self).stream(request)
            }

            fn name(&self) -> &str {
                (**self).name()
            }

            fn info(&self) -> ModelInfo {
                (**self).info()
            }

            fn custom_blocks(&self) -> Vec<CustomBlock> {
                (**self).custom_blocks()
            }

            fn with_tools(&self, gadgets: &[GadgetSpec]) -> Option<Arc<dyn Model>> {
                (**self).with_tools(gadgets)
            }

            fn transforms(&self) -> Vec<TransformFactory> {
                (**self).transforms()
            }

            fn recognised(&self) -> BoxFuture<'_, Option<Arc<dyn Model>>> {
                (**self).recognised()
            }
        }
    };
}

pointer!(Arc);
pointer!(Box);

/// Known facts about a model. Absent means unknown, not zero.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent facts about a model"
)]
#[non_exhaustive]
pub struct ModelInfo {
    /// Tokens of a whole conversation.
    pub context_window: Option<u64>,
    /// Number of its parameters.
    pub parameters: Option<u64>,
    /// The field in which its server takes constraints of replies.
    pub constraint: ConstraintField,
    /// Price per token.
    pub price: Option<Price>,
    /// True if the model runs on this machine, so that a price of 0 is a price. Elsewhere it is an unknown price.
    pub is_local: bool,
    /// True if the model accepts images. If not, backends send it no more than the caption of each.
    pub reads_images: bool,
    /// True if the model accepts audio. If not, backends send it no more than the caption of each sound.
    pub reads_audio: bool,
    /// The interface through which its provider serves it.
    pub mode: Mode,
    /// True if the provider reports what each request cost, so that the price need not be known.
    pub reports_cost: bool,
}

/// The field of a chat request that takes a grammar in GBNF.
///
/// Sources, read in November 2026: `tools/server/README.md` of llama.cpp; "Structured Outputs" of
/// <https://docs.vllm.ai/en/latest/features/structured_outputs/>, which replaced `guided_grammar` in 0.11 and removed it in
/// 0.12; `entrypoints/openai/protocol.py` of `SGLang`. The grammars of vLLM and `SGLang` are read by xgrammar or llguidance, whose
/// notation is llama.cpp's. Ollama, LM Studio and TGI take JSON schemas and regular expressions only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ConstraintField {
    /// The server takes no grammar that is known.
    #[default]
    None,
    /// `grammar: "…"`.
    LlamaCpp,
    /// `structured_outputs: {"grammar": "…"}`.
    Vllm,
    /// `ebnf: "…"`.
    Sglang,
}

impl ConstraintField {
    /// Returns `true` if there is one.
    pub fn is_known(self) -> bool {
        self != Self::None
    }

    /// The notation in which it takes constraints.
    pub fn notation(self) -> Option<Notation> {
        match self {
            Self::None => None,
            Self::LlamaCpp => Some(Notation::Gbnf),
            Self::Vllm | Self::Sglang => Some(Notation::StructuralTag),
        }
    }

    /// Returns `true` if the same server takes a structural tag: free text up to a trigger, and a grammar after it.
    ///
    /// It is `response_format: {"type": "structural_tag", "format": {…}}` for both of them, in the form of xgrammar
    /// (<https://xgrammar.mlc.ai/docs/tutorials/structural_tag.html>). A request may have this or a grammar.
    pub fn takes_structural_tags(self) -> bool {
        match self {
            Self::Vllm | Self::Sglang => true,
            Self::LlamaCpp | Self::None => false,
        }
    }
}

impl ModelInfo {
    gadgetry_proto::setters! {
        /// Sets the tokens of a whole conversation.
        context_window: impl Into<Option<u64>>;
        /// Sets the number of its parameters.
        parameters: impl Into<Option<u64>>;
        /// Sets the field in which its server takes constraints of replies.
        constraint: ConstraintField;
        /// Sets the price per token.
        price: impl Into<Option<Price>>;
        /// Counts it as a model of this machine, or not.
        is_local: bool;
        /// Lets it have images, or not.
        reads_images: bool;
        /// Lets it have audio, or not.
        reads_audio: bool;
        /// Sets the interface through which its provider serves it.
        mode: Mode;
        /// Takes the provider's reports of cost, or not.
        reports_cost: bool;
    }

    /// Parameters of the largest model that is small.
    const SMALL: u64 = 2_000_000_000;

    /// Returns `true` if the model is known to be small: then it follows worked turns better than instructions, and its texts do not end by themselves.
    fn is_small(&self) -> bool {
        self.parameters.is_some_and(|count| count <= Self::SMALL)
    }

    /// Returns the form in which models of this kind write calls best, as measured in `docs/performance.md`: a small one, and one that
    /// only completes text, has seen much JSON, and no blocks.
    pub fn usual_form(&self) -> CallForm {
        if self.is_small() || self.mode == Mode::Completion {
            CallForm::Json
        } else {
            CallForm::Block
        }
    }

    /// Returns how many worked turns models of this kind need before a conversation: a small one follows them better than instructions,
    /// and one that only completes text does what came before.
    pub fn usual_examples(&self) -> usize {
        if self.is_small() || self.mode == Mode::Completion {
            MAX_EXAMPLES
        } else {
            0
        }
    }

    /// Returns the size that grammars are made for. A model that only completes text counts as small. So does one of unknown size whose
    /// prompt shows worked turns, because they are for small models.
    pub fn size(&self, examples: usize) -> ModelSize {
        let is_small = match self.parameters {
            _ if self.mode == Mode::Completion => true,
            Some(_) => self.is_small(),
            None => examples > 0,
        };
        if is_small {
            ModelSize::Small
        } else {
            ModelSize::Large
        }
    }
}

/// The provider interface that serves a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Chat: messages in, a message out.
    #[default]
    Chat,
    /// OpenAI's Responses interface only.
    Responses,
    /// Text completion: a text in, its continuation out.
    Completion,
}

impl Mode {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde calls it with a reference"
    )]
    pub(crate) fn is_chat(&self) -> bool {
        *self == Self::Chat
    }
}

/// Models by the name under which a gadget may ask for them.
#[derive(Clone, Default)]
pub struct Models(Arc<BTreeMap<String, Arc<dyn Model>>>);

impl Models {
    /// The model of this name, in exactly this case.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Model>> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<dyn Model>)> {
        self.0.iter().map(|(name, model)| (name.as_str(), model))
    }
}

impl<N: Into<String>> FromIterator<(N, Arc<dyn Model>)> for Models {
    fn from_iter<I: IntoIterator<Item = (N, Arc<dyn Model>)>>(models: I) -> Self {
        let models = models.into_iter();
        Self(Arc::new(models.map(|(name, m)| (name.into(), m)).collect()))
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}
