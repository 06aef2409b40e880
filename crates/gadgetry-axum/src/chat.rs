//! The messages that a client sends.

use std::str::FromStr;

use gadgetry::{Classified, Content, Conversation, Fault, Message, Role};
use serde::Deserialize;

/// The body that the AI SDK's `useChat` sends: the messages so far, of which the last one is the question.
///
/// Text is read, and other parts are left out: the agent has its own tools. Conversations that an application stores itself are safer
/// than those that a client sends, because a client can make up what was said.
///
/// ```
/// use gadgetry_axum::UiRequest;
/// let request: UiRequest = r#"{ "id": "chat-1", "trigger": "submit-message", "messages": [
///     { "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "Hi" }] },
///     { "id": "m2", "role": "assistant", "parts": [{ "type": "text", "text": "Hello!" }] },
///     { "id": "m3", "role": "user", "parts": [{ "type": "text", "text": "What is 2+2?" }] }
/// ] }"#.parse()?;
/// assert_eq!((request.id(), request.question()), ("chat-1", "What is 2+2?"));
/// assert_eq!(request.conversation().messages().len(), 2);
/// # Ok::<(), gadgetry_axum::InvalidRequest>(())
/// ```
#[derive(Clone, Debug)]
pub struct UiRequest {
    id: String,
    before: Vec<Message>,
    question: String,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    id: String,
    messages: Vec<UiMessage>,
}

#[derive(Deserialize)]
struct UiMessage {
    role: String,
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: String,
}

impl UiRequest {
    /// Returns the id of the chat, as the client names it. It is not a secret, and anything a client likes.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the last message of the user.
    pub fn question(&self) -> &str {
        &self.question
    }

    /// Returns what was said before.
    pub fn conversation(&self) -> Conversation {
        self.before.clone().into()
    }
}

impl FromStr for UiRequest {
    type Err = InvalidRequest;

    fn from_str(text: &str) -> Result<Self, InvalidRequest> {
        let body: Body = serde_json::from_str(text)
            .map_err(|error| InvalidRequest::NotJson(error.to_string()))?;
        let messages = body.messages.into_iter().filter_map(|message| {
            let role = match message.role.as_str() {
                "user" => Role::User,
                "assistant" => Role::Assistant,
                // The agent has instructions of its own.
                _ => return None,
            };
            let parts = message.parts.into_iter().filter(|part| part.kind == "text");
            let text: String = parts.map(|part| part.text).collect();
            Some(Message::text(role, text))
        });
        let messages: Vec<Message> = messages.collect();
        let (before, question) = split(&messages).ok_or(InvalidRequest::NoQuestion)?;
        Ok(Self {
            id: body.id,
            before,
            question,
        })
    }
}

/// Error for a body that is not a chat: a mistake of the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequest {
    /// The body has another form.
    #[error("the body is not a chat of the AI SDK: {0}")]
    NotJson(String),
    /// The last message is not one of the user with a text.
    #[error("the last message must be one of the user, with a text")]
    NoQuestion,
}

impl Classified for InvalidRequest {
    fn fault(&self) -> Fault {
        Fault::Caller
    }
}

/// Returns the messages before the question, and its text. Of what a client sends only text counts: calls and results are the agent's
/// own, and so are instructions.
pub(crate) fn split(messages: &[Message]) -> Option<(Vec<Message>, String)> {
    let mut messages: Vec<Message> = messages.iter().filter_map(said).collect();
    let question = messages.pop().filter(|it| it.role == Role::User)?;
    Some((messages, text_of(&question)))
}

fn said(message: &Message) -> Option<Message> {
    let is_said = matches!(message.role, Role::User | Role::Assistant);
    let text = text_of(message);
    (is_said && !text.trim().is_empty()).then(|| Message::text(message.role, text))
}

fn text_of(message: &Message) -> String {
    let texts = message.content.iter().filter_map(|content| {
        if let Content::Text { text } = content {
            Some(text.as_str())
        } else {
            None
        }
    });
    texts.collect()
}
