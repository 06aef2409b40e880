//! The request of a client, whatever the API.

use std::fmt;

use gadgetry_proto::call::Digits;
use gadgetry_proto::message::{Message, Role, ToolChoice};
use gadgetry_providers::ModelOptions;
use serde_json::{Value, json};

pub use gadgetry_providers::tools::TEXT_PARAMETER;

/// A request of a client: the common form of Chat Completions, Responses and Messages.
///
/// Made by [`ClientApi::decode`](crate::ClientApi::decode).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ClientRequest {
    /// The model, as the client names it.
    pub model: String,
    /// The conversation, with calls and results as the client sent them.
    pub messages: Vec<Message>,
    /// The tools that the client executes.
    pub tools: Vec<Tool>,
    /// Demand for a call, and the tools that the reply may call.
    pub choice: Choice,
    /// `true` if a reply may have several calls.
    pub is_parallel: bool,
    /// `true` if data of the reply may be kept for the next request.
    pub is_stored: bool,
    /// Form of the answer: a document or a stream.
    pub delivery: Delivery,
    /// Limits and sampling. Its `fields` are those of the client's API that were not read.
    pub options: ModelOptions,
    /// The form of the answer, as `response_format` of Chat Completions.
    pub response_format: Option<Value>,
    /// Parts of the request that are not honoured, for the header `x-gadgetry-warning`.
    pub warnings: Vec<String>,
}

/// Form in which a reply is sent to the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// The reply is one JSON document.
    #[default]
    Document,
    /// As a stream of events.
    Stream {
        /// `true` if the client reads token counts in the stream.
        reports_usage: bool,
    },
}

impl Delivery {
    pub(crate) fn new(is_streaming: bool, reports_usage: bool) -> Self {
        if is_streaming {
            Self::Stream { reports_usage }
        } else {
            Self::Document
        }
    }
}

impl ClientRequest {
    /// Returns `true` if the reply is streamed.
    pub fn is_streaming(&self) -> bool {
        matches!(self.delivery, Delivery::Stream { .. })
    }

    /// Returns the messages before the first reply, which stay the same in all turns of a conversation.
    pub fn beginning(&self) -> &[Message] {
        let mut messages = self.messages.iter();
        let end = messages.position(|message| message.role == Role::Assistant);
        &self.messages[..end.unwrap_or(self.messages.len())]
    }

    /// Returns `true` if the reply can contain calls.
    pub fn may_call(&self) -> bool {
        !self.tools.is_empty() && self.choice.kind != ToolChoice::None
    }
}

/// Demand for a call, and the tools that a reply may call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// Demand for a call.
    pub kind: ToolChoice,
    /// The names of the tools that it may call; `None` for all.
    pub allowed: Option<Vec<String>>,
}

impl Choice {
    /// Returns `true` if a reply may call the tool of this name.
    pub fn allows(&self, name: &str) -> bool {
        let is_listed = |names: &Vec<String>| names.iter().any(|it| it == name);
        let is_named = match &self.kind {
            ToolChoice::Gadget(only) => only == name,
            ToolChoice::None => false,
            _ => true,
        };
        is_named && self.allowed.as_ref().is_none_or(is_listed)
    }
}

impl From<ToolChoice> for Choice {
    fn from(kind: ToolChoice) -> Self {
        Self {
            kind,
            allowed: None,
        }
    }
}

/// Formats the demand of a client's tool choice for messages: `a tool`, `the tool Read`.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.kind, &self.allowed) {
            (ToolChoice::Gadget(name), _) => write!(f, "the tool {name}"),
            (_, Some(names)) => write!(f, "one of the tools {}", names.join(", ")),
            (_, None) => f.write_str("a tool"),
        }
    }
}

/// Parameters of a call, and the original digits of their numbers.
pub(super) type Input = (Value, Digits);

/// A tool that the client executes.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The name, as the client knows it.
    pub name: String,
    /// The client's group of the tool, which is part of its address.
    pub namespace: Option<String>,
    /// Description for the model.
    pub description: String,
    /// The JSON Schema of its parameters.
    pub schema: Value,
    /// Kind of its parameters.
    pub kind: ToolKind,
}

/// Kind of a tool's parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolKind {
    /// A JSON object.
    #[default]
    Function,
    /// One free text. In the gateway, it is the parameter [`TEXT_PARAMETER`] of an object.
    Text,
}

impl Tool {
    /// Makes a function.
    pub fn function(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
    ) -> Self {
        Self {
            name: name.into(),
            namespace: None,
            description: description.into(),
            schema,
            kind: ToolKind::Function,
        }
    }

    /// Makes a tool that takes one free text.
    pub fn text(name: impl Into<String>, description: impl Into<String>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": { TEXT_PARAMETER: { "type": "string" } },
            "required": [TEXT_PARAMETER],
            "additionalProperties": false,
        });
        Self {
            kind: ToolKind::Text,
            ..Self::function(name, description, schema)
        }
    }

    /// Returns the name with the namespace, as messages of the conversation use it.
    ///
    /// ```
    /// use gadgetry_gateway::exchange::Tool;
    /// let mut tool = Tool::text("search", "");
    /// assert_eq!(tool.full_name(), "search");
    /// tool.namespace = Some("crm".to_owned());
    /// assert_eq!(tool.full_name(), "crm.search");
    /// ```
    pub fn full_name(&self) -> String {
        full_name(self.namespace.as_deref(), &self.name)
    }
}

/// Returns a name with its namespace.
pub(crate) fn full_name(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) if !namespace.is_empty() => format!("{namespace}.{name}"),
        _ => name.to_owned(),
    }
}
