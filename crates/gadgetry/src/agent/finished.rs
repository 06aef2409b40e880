//! Result of a run.

use gadgetry_proto::block::Markers;
use gadgetry_proto::convo::OutputStore;
use gadgetry_proto::message::{Message, Role};
use gadgetry_proto::run::Summary;
use gadgetry_proto::tree::CostTree;

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
    /// The conversation, with the question and the results of gadgets, but without the agent's own instructions. Pass
    /// all of this to [`AgentBuilder::continue_from`](crate::AgentBuilder::continue_from) to continue it.
    pub history: Vec<Message>,
    /// The long results that the conversation names.
    pub outputs: OutputStore,
    /// The markers of the blocks in it.
    pub markers: Markers,
    /// Cost of each model call, gadget and subagent.
    pub costs: CostTree,
    /// If a hook has panicked, and the run was cancelled for it: its words.
    pub fault: Option<String>,
}

impl Finished {}

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
