//! A conversation over several runs.

use gadgetry_proto::block::Markers;
use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::message::Message;
use serde::{Deserialize, Serialize};

use crate::agent::Finished;

/// Messages of several runs, and everything that the next run needs to continue them.
///
/// It holds the messages with the results of gadgets (sticky ones are marked in them), the long results that the model views with
/// `GadgetOutputViewer`, and the markers of its blocks. It does not hold the agent's own instructions: each run adds those of its
/// agent. Serialize it to store a conversation between two requests of a server; `clone` it to try something and return to where
/// it was.
///
/// [`Agent::ask_in`](crate::Agent::ask_in) adds to it, and [`Agent::ask_owned`](crate::Agent::ask_owned) takes it. An empty conversation begins with the history and the synthetic
/// calls of the agent.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model: gadgetry::ScriptedModel = "{\"text\": \"4\"}\n{\"text\": \"Yes.\"}".parse()?;
/// use gadgetry::{Agent, Conversation};
///
/// let agent = Agent::builder().model(model).build()?;
/// let mut talk = Conversation::default();
/// assert_eq!(agent.ask_in(&mut talk, "What is 2+2?").text().await?, "4");
///
/// let stored = gadgetry::serde_json::to_string(&talk)?;
/// let mut talk: Conversation = gadgetry::serde_json::from_str(&stored)?;
/// assert_eq!(agent.ask_in(&mut talk, "Are you sure?").text().await?, "Yes.");
/// assert_eq!(talk.messages().len(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    pub(super) messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "is_empty")]
    pub(super) outputs: OutputStore,
    /// Markers of the first run; later runs use the same, because the model has read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) markers: Option<Markers>,
}

impl Conversation {
    /// All messages, the oldest first.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The long results that the messages name.
    pub fn outputs(&self) -> &OutputStore {
        &self.outputs
    }

    /// Returns whether there are no messages yet.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

/// Makes a conversation of messages that were stored elsewhere. Blocks in them are read with the markers of the agent.
impl From<Vec<Message>> for Conversation {
    fn from(messages: Vec<Message>) -> Self {
        Self {
            messages,
            ..Self::default()
        }
    }
}

impl From<&Finished> for Conversation {
    fn from(finished: &Finished) -> Self {
        Self {
            messages: finished.history.clone(),
            outputs: finished.outputs.clone(),
            markers: Some(finished.markers.clone()),
        }
    }
}

impl From<Finished> for Conversation {
    fn from(finished: Finished) -> Self {
        Self {
            messages: finished.history,
            outputs: finished.outputs,
            markers: Some(finished.markers),
        }
    }
}

impl From<&Self> for Conversation {
    fn from(conversation: &Self) -> Self {
        conversation.clone()
    }
}

fn is_empty(outputs: &OutputStore) -> bool {
    outputs.outputs().is_empty()
}
