//! Messages of a conversation, and a request to a model.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Call;
use crate::id::{BlockId, InvocationId};
pub use crate::media::{Media, MediaData, MediaKind};
use crate::trace::TraceContext;

/// Attributes of a tag, in the order written; of a repeated name the last value counts, at the first one's place.
pub type Attributes = serde_json::Map<String, Value>;

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Role {
    /// The author of the instructions.
    System,
    /// The user, and the results of gadgets.
    User,
    /// The model.
    Assistant,
}

impl Role {
    /// Returns the name: `system`, `user` or `assistant`.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message.
///
/// ```
/// use gadgetry_proto::message::{Content, Message, Role};
/// let text = Content::Text { text: "Hi".to_owned() };
/// assert_eq!(Message::new(Role::User, vec![text]), Message::text(Role::User, "Hi"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The parts of the message, in order.
    pub content: Vec<Content>,
    /// An assistant's reply as it was written, blocks and tags included. A later request sends this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
}

impl Message {
    /// A message of these parts.
    pub fn new(role: Role, content: Vec<Content>) -> Self {
        Self {
            role,
            content,
            raw: None,
        }
    }

    /// A message of one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self::new(role, vec![Content::Text { text: text.into() }])
    }

    crate::setters! {
        /// Sets the reply as it was written, which later requests send.
        raw: impl Into<Option<String>>;
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum Content {
    /// Visible text.
    Text {
        /// The text.
        text: String,
    },
    /// The reasoning of a model.
    Reasoning {
        /// The text.
        text: String,
    },
    /// A custom block.
    Custom(CustomContentBlock),
    /// Opaque data that the provider wants back in later requests. It has no text form.
    ProviderData(ProviderData),
    /// A gadget call, as a block of text.
    GadgetCall(Arc<Call>),
    /// A tool call through the provider's own interface.
    ToolUse {
        /// The provider's id of the call.
        tool_use_id: String,
        /// The name of the tool.
        name: String,
        /// The parameters.
        input: Value,
    },
    /// The result of a gadget call.
    GadgetResult {
        /// The call.
        invocation_id: InvocationId,
        /// The gadget, as written in the call.
        gadget_name: String,
        /// Result or error text, with escaped markers.
        text: String,
        /// Whether the call failed, was skipped or was never executed.
        is_error: bool,
        /// Whether compaction keeps it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        sticky: bool,
        /// Pictures, sounds and files that belong to the result.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<Media>,
    },
    /// A medium.
    Media(Media),
    /// The summary of earlier turns, in their place. Only compaction makes it.
    Summary {
        /// The summary, with escaped markers.
        text: String,
        /// The number of turns that it sums up.
        turns: u32,
    },
    /// Earlier turns that were left out. Only compaction makes it.
    Omission {
        /// The number of turns.
        turns: u32,
    },
}

impl Content {
    /// Returns `true` for a custom block.
    pub fn is_custom_block(&self) -> bool {
        matches!(self, Self::Custom(_))
    }
}

/// A custom block in its place in a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CustomContentBlock {
    /// The same id as on the block's events.
    pub block_id: BlockId,
    /// The key of the definition, not the XML name.
    pub tag: String,
    /// Everything between the opening and the closing tag.
    pub content: String,
    /// The attributes of the opening tag.
    pub attrs: Attributes,
    /// Whether the tag closed itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub self_closing: bool,
}

/// Opaque data that a provider wants back, unchanged, with the reply that it came with: signed or encrypted reasoning, signatures of
/// calls.
///
/// A backend sends it back only to the same API and the same model; everywhere else it is left out.
///
/// ```
/// use gadgetry_proto::message::{Content, ProviderData};
/// let signed = Content::ProviderData(ProviderData {
///     api: "anthropic_messages".into(),
///     model: "claude-haiku-4-5".into(),
///     data: serde_json::json!({"type": "redacted_thinking", "data": "…"}),
/// });
/// assert_eq!(serde_json::to_value(&signed)?["type"], "provider_data");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderData {
    /// The API that it belongs to, such as `chat_completions` or `anthropic_messages`.
    pub api: String,
    /// The model as it was requested.
    pub model: String,
    /// The data, in a form that only the backend of that API knows.
    pub data: Value,
}

/// A request to a model.
///
/// Cloning it is cheap. A driver that drops it before the model has answered spares the run a copy of the history.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Request {
    /// The conversation, system message first.
    pub messages: Arc<Vec<Message>>,
    /// Messages after the conversation that only this request carries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trailing: Vec<Message>,
    /// The number of the iteration, from 1.
    pub iteration: u32,
    /// The number of replies that the run had read before this process resumed it; 0 if the run began here. The driver of durable runs
    /// sets it, for models that count requests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumed_after: u32,
    /// The purpose of the reply.
    #[serde(default, skip_serializing_if = "Purpose::is_reply")]
    pub purpose: Purpose,
    /// The choice whether the reply must call a gadget. Only a request that offers gadgets as the provider's own tools carries it.
    #[serde(default, skip_serializing_if = "ToolChoice::is_auto")]
    pub tool_choice: ToolChoice,
    /// The constraint that the server holds the reply to. A backend whose server takes no constraints sends none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<Constraint>,
    /// The trace that the request belongs to. A backend passes it on in headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Arc<TraceContext>>,
    /// Settings of this reply. They take precedence over those of the model.
    #[serde(default, skip_serializing_if = "Sampling::is_default")]
    pub sampling: Sampling,
}

/// Settings of a reply that a server applies while it samples. What is not set is left to the model's own options.
///
/// ```
/// use gadgetry_proto::message::Sampling;
/// let sampling = Sampling::default().temperature(0.2).max_tokens(500);
/// assert_eq!(sampling.max_tokens, Some(500));
/// assert_eq!(sampling.stop, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Sampling {
    /// The temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The maximum number of tokens in a reply, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Stop sequences; an empty list removes those of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Vec<String>>,
}

impl Sampling {
    /// Sets the temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the maximum number of tokens in a reply, reasoning included.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets the stop sequences.
    #[must_use]
    pub fn stop(mut self, sequences: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.stop = Some(sequences.into_iter().map(Into::into).collect());
        self
    }

    /// Returns `true` if everything is left to the model's own options.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A constraint on a reply, which a server enforces: the model can write nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Constraint {
    /// A grammar in the notation of llama.cpp, which xgrammar and llguidance read as well.
    Gbnf(Arc<str>),
    /// A structural tag of xgrammar: text is free, and each call begins with what triggers it.
    StructuralTag(Arc<Value>),
}

/// The notation in which a [`Constraint`] is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notation {
    /// The notation of [`Constraint::Gbnf`].
    Gbnf,
    /// [`Constraint::StructuralTag`] where the model decides whether it calls, and [`Constraint::Gbnf`] where it must or must not.
    StructuralTag,
}

impl Request {
    crate::setters! {
        /// Sets the conversation, system message first.
        messages: impl Into<Arc<Vec<Message>>>;
        /// Sets the messages after the conversation that only this request carries.
        trailing: Vec<Message>;
        /// Sets the number of the iteration, from 1.
        iteration: u32;
        /// Sets the purpose of the reply.
        purpose: Purpose;
        /// Sets the choice whether the reply must call a gadget.
        tool_choice: ToolChoice;
        /// Sets the constraint that the server holds the reply to.
        constraint: impl Into<Option<Constraint>>;
        /// Sets the settings of this reply.
        sampling: Sampling;
    }

    /// Everything that the model is to read, in order.
    pub fn all_messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().chain(&self.trailing)
    }
}

/// The choice whether a reply must call a gadget, and which one.
///
/// It is a field of the provider's own interface, so it applies with [`Tools::Native`](crate::run::Tools::Native) and
/// [`Tools::Both`](crate::run::Tools::Both). Where the model only writes blocks, a [`Constraint`] enforces it; without one, the choice is
/// ignored.
///
/// ```
/// use gadgetry_proto::message::ToolChoice;
/// assert!(ToolChoice::Gadget("Search".to_owned()).is_forced());
/// assert!(!ToolChoice::None.is_forced());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides. Nothing is sent, because this is the default of all providers.
    #[default]
    Auto,
    /// The model must not call a gadget.
    None,
    /// The model must call at least one gadget.
    Required,
    /// The model must call the gadget of this name.
    Gadget(String),
}

impl ToolChoice {
    /// Returns `true` if the model decides.
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }

    /// Returns `true` if the model must call a gadget.
    pub fn is_forced(&self) -> bool {
        matches!(self, Self::Required | Self::Gadget(_))
    }
}

/// The purpose of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// The next reply of the conversation.
    #[default]
    Reply,
    /// A summary of what compaction takes out of the conversation.
    Summary,
}

impl Purpose {
    /// Returns `true` for the next reply of the conversation.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    pub(crate) fn is_reply(&self) -> bool {
        *self == Self::Reply
    }
}
