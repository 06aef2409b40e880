//! The UI message stream of the AI SDK, and the requests of its hooks.

use gadgetry::Event;
use gadgetry_axum::UiRequest;
use napi_derive::napi;
use serde_json::json;

use crate::errors::bad;
use crate::run::Conversation;

/// Makes parts of the stream of events.
#[napi]
pub struct UiMessages(gadgetry_axum::UiMessages);

#[napi]
impl UiMessages {
    /// Begins a stream.
    #[napi(constructor)]
    pub fn new() -> Self {
        Self(gadgetry_axum::UiMessages::default())
    }

    /// The parts of an event, both as JSON.
    #[napi]
    pub fn parts(&mut self, event: String) -> napi::Result<String> {
        let event: Event = serde_json::from_str(&event).map_err(bad)?;
        Ok(json!(self.0.parts(&event)).to_string())
    }
}

/// A request of `useChat`.
#[napi]
pub struct ChatRequest(UiRequest);

#[napi]
impl ChatRequest {
    /// Reads its body.
    #[napi(constructor)]
    pub fn new(body: String) -> napi::Result<Self> {
        body.parse().map(Self).map_err(bad)
    }

    /// The id of the chat.
    #[napi(getter)]
    pub fn id(&self) -> String {
        self.0.id().to_owned()
    }

    /// The last message of the user.
    #[napi(getter)]
    pub fn question(&self) -> String {
        self.0.question().to_owned()
    }

    /// Returns the conversation before the question.
    #[napi(getter)]
    pub fn conversation(&self) -> Conversation {
        Conversation(self.0.conversation())
    }
}
