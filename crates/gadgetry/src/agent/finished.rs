//! Result of a run.

use gadgetry_proto::block::Markers;
use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::id::CallId;
use gadgetry_proto::message::{Message, Role};
use gadgetry_proto::run::Summary;
use gadgetry_proto::tree::{CostTree, NodeId, NodeKind, Status};
use gadgetry_proto::usage::Usage;

/// End of a run, with its messages and costs.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let model: gadgetry::ScriptedModel = "{\"text\": \"4\"}\n{\"text\": \"Yes.\"}".parse()?;
/// let builder = gadgetry::Agent::builder().model(model);
/// let finished = builder.clone().ask("What is 2+2?")?.finish().await?;
/// println!("{} for {} dollars", finished.summary.answer, finished.summary.known_cost);
/// let answer = builder.continue_from(&finished).ask("Are you sure?")?.text().await?;
/// # assert_eq!(answer, "Yes.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finished {
    /// Reason for the end, cost, and answer.
    pub summary: Summary,
    /// The conversation, with the question and the results of gadgets, but without the agent's own instructions. Pass this whole
    /// value to [`AgentBuilder::continue_from`](crate::AgentBuilder::continue_from) to continue it.
    pub history: Vec<Message>,
    /// The long results that the conversation names.
    pub outputs: OutputStore,
    /// The markers of the blocks in it.
    pub markers: Markers,
    /// Cost of each model call, gadget and subagent.
    pub costs: CostTree,
    /// Message of the hook's panic, if the run was cancelled because of one.
    pub fault: Option<String>,
}

/// A call of a gadget in a run that has ended, from [`Finished::calls`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FinishedCall<'f> {
    /// The number of the call in the run.
    pub call: CallId,
    /// The id of the call for the model.
    pub invocation_id: &'f str,
    /// The name as written.
    pub gadget_name: &'f str,
    /// Status of the call.
    pub status: Status,
}

impl Finished {
    /// Returns the calls of gadgets that the model made, in order, without those of subagents. Without any, the model did not use
    /// its gadgets: it may not know the format, see `gadgetry doctor`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let model: gadgetry::ScriptedModel = r#"{"text": "The weather in Paris is Paris."}"#.parse()?;
    /// let finished = gadgetry::Agent::builder().model(model).ask("What is the weather in Paris?")?.await?;
    /// if finished.calls().next().is_none() {
    ///     eprintln!("the model called nothing");
    /// }
    /// assert_eq!(finished.usage().output_tokens, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn calls(&self) -> impl Iterator<Item = FinishedCall<'_>> {
        let nodes = self.costs.children(NodeId::ROOT).iter();
        nodes.filter_map(|id| {
            let NodeKind::Gadget {
                call,
                invocation_id,
                gadget_name,
                status,
                ..
            } = &self.costs.node(*id)?.kind
            else {
                return None;
            };
            Some(FinishedCall {
                call: *call,
                invocation_id: invocation_id.as_str(),
                gadget_name,
                status: *status,
            })
        })
    }

    /// Returns the tokens of all model calls, those of subagents and compaction included.
    pub fn usage(&self) -> Usage {
        self.costs.tokens()
    }
}

pub(super) fn systems(messages: &[Message]) -> impl Iterator<Item = &Message> {
    messages
        .iter()
        .filter(|message| message.role == Role::System)
}

/// `history` without the run's own prompt: its first `own` system messages are left out, and the next ones are as
/// they were `given`.
pub(super) fn without_instructions(
    history: Vec<Message>,
    own: usize,
    given: Vec<Message>,
) -> Vec<Message> {
    let (mut left, mut given) = (own, given.into_iter());
    let mut kept = Vec::with_capacity(history.len());
    for message in history {
        if message.role != Role::System {
            kept.push(message);
        } else if left > 0 {
            left -= 1;
        } else {
            kept.push(given.next().unwrap_or(message));
        }
    }
    kept
}
