//! One call of one gadget, as in a run of an agent, without a model.

use std::sync::Arc;

use gadgetry_proto::block::Markers;
use gadgetry_proto::event::{CallAnswer, Event, EventKind};
use gadgetry_proto::message::Media;
use serde::Serialize;
use serde_json::{Value, json};

use crate::agent::{Agent, AgentBuilder};
use crate::gadget::DynGadget;
use crate::observer::Observer;
use crate::scripted::{ScriptError, ScriptedModel};

/// Builds an agent whose model makes only this call.
///
/// `parameters` is the text of a JSON object. The call is treated as in any run: parameters are checked, panics are caught,
/// timeouts and approvals apply. `seed` is a random number, so that no text in the parameters can guess the markers.
/// [`SingleCall`] observes the result. No event is about the model, and the [identity](gadgetry_proto::event::RunInfo::single_call) of
/// the run says why.
///
/// # Errors
///
/// [`ScriptError`] if the call cannot be written as a reply.
///
/// ```
/// use gadgetry::agent::{SingleCall, single_call};
/// use gadgetry::{CallAnswer, IntoGadget, gadget};
///
/// /// Adds two numbers.
/// #[gadget]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut call = SingleCall::default();
/// let agent = single_call(Add.into_gadget(), r#"{ "a": 2, "b": 2 }"#, 1)?;
/// agent.ask("")?.observe(&mut call).await?;
/// assert_eq!(call.answer, Some(CallAnswer::Result("4".to_owned())));
/// # Ok(())
/// # }
/// ```
pub fn single_call(
    gadget: Arc<dyn DynGadget>,
    parameters: &str,
    seed: u64,
) -> Result<AgentBuilder, ScriptError> {
    // No text of the parameters can be one of these.
    let markers = Markers::nonce(seed);
    let (start, end, name) = (markers.start(), markers.end(), &gadget.spec().name);
    let block = format!("{start}{name}:call\n{parameters}\n{end}\n");
    let script = json!({ "text": block }).to_string();
    let model: ScriptedModel = script.parse()?;
    let mut agent = Agent::builder();
    agent.is_single_call = true;
    Ok(agent
        .model(model)
        .gadget(gadget)
        .markers(markers)
        .max_iterations(1)
        .without_retry()
        .without_output_limit())
}

/// The result of a [`single_call`], which it observes.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SingleCall {
    /// The name of the gadget; empty if it was not executed.
    pub gadget_name: String,
    /// Parameters that the gadget received, with defaults; absent if it was not executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Arc<Value>>,
    /// The result or the error; absent if the run has ended before.
    #[serde(flatten)]
    pub answer: Option<CallAnswer>,
    /// Duration of the call.
    pub duration_ms: u64,
    /// Cost of the call in US dollars.
    pub cost: f64,
    /// Media of the result, in addition to its text.
    pub media: Vec<Media>,
    /// True if the run of an agent would end with it.
    pub completes_run: bool,
}

impl Observer for SingleCall {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the others say nothing about the call"
    )]
    fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::GadgetStart { parameters, .. } => {
                self.parameters = Some(Arc::clone(parameters));
            }
            EventKind::GadgetResult {
                gadget_name,
                answer,
                duration_ms,
                cost,
                media,
                completes_run,
                ..
            } => {
                self.gadget_name.clone_from(gadget_name);
                self.answer = Some(answer.clone());
                self.duration_ms = *duration_ms;
                self.cost += cost;
                self.media.clone_from(media);
                self.completes_run = *completes_run;
            }
            EventKind::GadgetCost { cost, .. } => self.cost += cost,
            _ => {}
        }
    }
}
