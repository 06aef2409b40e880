//! The data on the wire between workers, inboxes and clients: names of services, headers, and values as JSON.
//!
//! Its formats are stored by Restate and read by other versions of gadgetry, so they only grow.

use gadgetry::journal::RunMessageContent;
use gadgetry::proto::message::Message;
use gadgetry::proto::run::Summary;
use serde::{Deserialize, Serialize};

/// The service of runs, a workflow.
pub(crate) const RUNS: &str = "GadgetryRun";

/// The service of inboxes, a virtual object.
pub(crate) const INBOXES: &str = "GadgetryInbox";

/// The service of gadgets that are spread.
pub(crate) const GADGETS: &str = "GadgetryGadgets";

/// The header that names a drive of a run.
pub(crate) const DRIVE_HEADER: &str = "gadgetry-drive";

/// The code of an invocation that was cancelled.
pub(crate) const CANCELLED: u16 = 409;

/// Maximum number of bytes of one entry of a run. Restate refuses messages of 32 MiB, and then it repeats the step that made one
/// forever.
pub const MAX_ENTRY: usize = 10_000_000;

/// Returns the name of the signal that wakes a run because of the message with this number.
pub(crate) fn message_signal(message: u64) -> String {
    format!("message/{message}")
}

/// The input of a workflow: what a run begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Submission {
    pub(crate) prompt: String,
}

/// The output of a workflow: how a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RunOutcome {
    /// The reason of the end, the costs, and the answer.
    pub summary: Summary,
    /// The conversation, without the agent's own instructions.
    pub history: Vec<Message>,
    /// Whether the conversation is left out, because it is larger than [`MAX_ENTRY`](crate::MAX_ENTRY).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_history_omitted: bool,
    /// The message of a hook that has panicked, if the run was cancelled for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl RunOutcome {
    pub(crate) fn new(summary: Summary, history: Vec<Message>, fault: Option<String>) -> Self {
        Self {
            summary,
            history,
            is_history_omitted: false,
            fault,
        }
    }
}

/// The address of the worker that drives a run, for followers of its events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerAddress {
    pub(crate) url: String,
    /// The proof that the follower may use Restate.
    pub(crate) token: String,
}

/// The request of a worker that begins to drive a run, to its inbox.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InboxOpening {
    /// The invocation of the workflow, which signals go to.
    pub(crate) invocation: String,
    #[serde(rename = "place")]
    pub(crate) worker: WorkerAddress,
}

/// A message that an inbox has stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredMessage {
    pub(crate) number: u64,
    pub(crate) message: RunMessageContent,
}

#[cfg(test)]
mod tests {
    use super::*;
    use gadgetry::proto::run::Command;
    use serde_json::{Value, json};

    /// Restate has these values from earlier versions, so a field that is renamed in the code keeps its name in JSON.
    #[track_caller]
    fn check(value: impl Serialize, expected: &Value) {
        assert_eq!(serde_json::to_value(value).unwrap(), *expected);
    }

    #[test]
    fn formats_stay() {
        let worker = WorkerAddress {
            url: "http://w".to_owned(),
            token: "t".to_owned(),
        };
        let opening = InboxOpening {
            invocation: "inv".to_owned(),
            worker,
        };
        check(
            opening,
            &json!({"invocation": "inv", "place": {"url": "http://w", "token": "t"}}),
        );
        check(
            Submission {
                prompt: "Hi".to_owned(),
            },
            &json!({"prompt": "Hi"}),
        );
        check(
            StoredMessage {
                number: 3,
                message: RunMessageContent::Command(Command::Cancel),
            },
            &json!({"number": 3, "message": {"command": "cancel"}}),
        );
        assert_eq!(message_signal(7), "message/7");
    }
}
