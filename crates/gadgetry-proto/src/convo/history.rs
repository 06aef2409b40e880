//! The messages of a run, shared with the requests that carry them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::{Message, Request, Role};
use crate::prompt::append_to_system;

/// The conversation so far.
///
/// A request shares the messages. When it has been dropped before the history grows, nothing is ever copied; while
/// it is still held, the first change afterwards copies the messages once.
///
/// ```
/// use gadgetry_proto::convo::History;
/// use gadgetry_proto::message::{Message, Role};
/// let mut history = History::new(vec![Message::text(Role::User, "Hello")]);
/// let request = history.request(1);
/// history.push(Message::text(Role::Assistant, "Hello yourself"));
/// assert_eq!(request.messages.len(), 1);
/// assert_eq!(history.messages().len(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct History {
    messages: Arc<Vec<Message>>,
}

impl History {
    /// A conversation that begins with `messages`.
    pub fn new(messages: Vec<Message>) -> Self {
        let messages = Arc::new(messages);
        Self { messages }
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The messages, to keep. They are copied only if a request still holds them.
    pub(crate) fn into_messages(self) -> Vec<Message> {
        Arc::unwrap_or_clone(self.messages)
    }

    /// The message that was added last.
    pub fn last(&self) -> Option<&Message> {
        self.messages.last()
    }

    /// A request with everything so far; `iteration` counts from 1.
    pub fn request(&self, iteration: u32) -> Request {
        let messages = Arc::clone(&self.messages);
        Request {
            messages,
            iteration,
            ..Request::default()
        }
    }

    /// Adds a message.
    pub fn push(&mut self, message: Message) {
        self.messages_mut().push(message);
    }

    /// Adds a text.
    pub fn push_text(&mut self, role: Role, text: impl Into<String>) {
        self.push(Message::text(role, text));
    }

    /// Appends to the system message, as [`append_to_system`] does.
    pub fn append_to_system(&mut self, text: &str) {
        if !text.is_empty() {
            append_to_system(self.messages_mut(), text);
        }
    }

    /// The messages, to change them at will.
    pub fn messages_mut(&mut self) -> &mut Vec<Message> {
        Arc::make_mut(&mut self.messages)
    }
}

impl From<Vec<Message>> for History {
    fn from(messages: Vec<Message>) -> Self {
        Self::new(messages)
    }
}
