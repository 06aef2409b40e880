//! Histories for tests.

use std::sync::Arc;

use gadgetry::proto::block::{Anchoring, Markers};
use gadgetry::proto::convo::{result_content, results_message};
use gadgetry::proto::delta::Delta;
use gadgetry::proto::id::InvocationId;
use gadgetry::proto::message::{Content, Message, Role};
use gadgetry::proto::reply::{self, Reader};
use gadgetry::proto::schema::Registry;

use crate::call::{Format, MockCall};
use crate::content::calls;

/// A conversation without messages.
///
/// ```
/// use gadgetry_testing::{call, conversation};
/// let messages = conversation()
///     .system("Be brief.")
///     .user("How many users are there?")
///     .assistant("I will look.")
///     .assistant_call(call("Fetch").id("users").arg("url", "/api/users"))
///     .result("users", "[1, 2, 3]")
///     .assistant("Three.")
///     .build();
/// assert_eq!(messages.len(), 5);
/// assert_eq!(
///     messages[2].raw.as_deref(),
///     Some("I will look.\n!!!GADGET_START:Fetch:users\n!!!ARG:url\n/api/users\n!!!GADGET_END\n"),
/// );
/// ```
pub fn conversation() -> Conversation {
    Conversation::default()
}

/// Builds histories as a run would keep them. [`conversation`] begins one.
///
/// What the assistant says, texts and calls in a row, becomes one message with its raw text; results in a row become one
/// message of the user. Nothing is checked, so broken histories can be built, too.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    format: Format,
    messages: Vec<Message>,
    /// Reply of the assistant since the last message.
    reply: String,
    /// The results since the last message.
    results: Vec<Content>,
}

impl Conversation {
    /// The markers of the calls from here on.
    #[must_use]
    pub fn markers(mut self, markers: Markers) -> Self {
        self.format.markers = markers;
        self
    }

    /// Sets where markers count from here on.
    #[must_use]
    pub fn anchoring(mut self, anchoring: Anchoring) -> Self {
        self.format.anchoring = anchoring;
        self
    }

    /// The gadgets whose schemas say how values are written and read; see [`MockCall`].
    #[must_use]
    pub fn gadgets(mut self, registry: &Registry) -> Self {
        self.format.registry = registry.clone();
        self
    }

    /// A message of the system.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        self.message(Message::text(Role::System, text))
    }

    /// A message of the user.
    #[must_use]
    pub fn user(self, text: impl Into<String>) -> Self {
        self.message(Message::text(Role::User, text))
    }

    /// The assistant says this. Blocks in it are read as calls.
    #[must_use]
    pub fn assistant(mut self, text: impl AsRef<str>) -> Self {
        self.end_results();
        self.reply.push_str(text.as_ref());
        self
    }

    /// The assistant calls a gadget.
    ///
    /// # Panics
    ///
    /// If the call cannot be written.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a test writes the call in its place"
    )]
    #[must_use]
    pub fn assistant_call(mut self, call: MockCall) -> Self {
        self.end_results();
        self.format.write(&mut self.reply, &call);
        self
    }

    /// The result of a call. The gadget is that of the last call with this id, or `Unknown`.
    #[must_use]
    pub fn result(self, id: &str, text: &str) -> Self {
        self.answer(id, Ok(text))
    }

    /// The error that answers a call.
    #[must_use]
    pub fn error(self, id: &str, text: &str) -> Self {
        self.answer(id, Err(text))
    }

    /// Any message, as it is.
    #[must_use]
    pub fn message(mut self, message: Message) -> Self {
        self.end_reply();
        self.end_results();
        self.messages.push(message);
        self
    }

    /// The messages.
    pub fn build(mut self) -> Vec<Message> {
        self.end_reply();
        self.end_results();
        self.messages
    }

    fn answer(mut self, id: &str, result: Result<&str, &str>) -> Self {
        self.end_reply();
        let calls = self.messages.iter().flat_map(calls);
        let named = calls.filter(|call| call.invocation_id.as_str() == id);
        let gadget = named.last().map(|call| call.gadget_name.clone());
        let gadget = gadget.unwrap_or_else(|| "Unknown".to_owned());
        let id = InvocationId::from(id);
        let content = result_content(&id, &gadget, result, &self.format.markers);
        self.results.push(content);
        self
    }

    fn end_results(&mut self) {
        if !self.results.is_empty() {
            let results = std::mem::take(&mut self.results);
            self.messages.push(results_message(results));
        }
    }

    /// Reads the reply as a run does.
    fn end_reply(&mut self) {
        if self.reply.is_empty() {
            return;
        }
        let raw = std::mem::take(&mut self.reply);
        let format = reply::Format {
            markers: Some(self.format.markers.clone()),
            anchoring: self.format.anchoring,
            ..reply::Format::default()
        };
        let registry = Arc::new(self.format.registry.clone());
        let mut reader = match Reader::new(format, Vec::new(), registry) {
            Ok(reader) => reader,
            // It fails for bad names of tags, and no tags are set.
            Err(error) => panic!("the fixture cannot be read: {error}"),
        };
        let mut deltas = Vec::new();
        reader.push(Delta::text(raw), &mut deltas);
        self.messages.push(reader.finish(&mut deltas).message);
    }
}
