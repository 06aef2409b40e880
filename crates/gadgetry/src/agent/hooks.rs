//! Decisions of closures.

use futures_core::future::BoxFuture;
use gadgetry_proto::run::{Asks, Decision, QuestionKind};

use crate::control::{DynController, GadgetDone, RunContext};

/// Continuation of a run after a gadget has failed; see
/// [`AgentBuilder::on_gadget_error`](crate::AgentBuilder::on_gadget_error).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use gadgetry::{Agent, OnGadgetError, ScriptedModel};
/// let model: ScriptedModel = r#"{"text": "4"}"#.parse()?;
/// let agent = Agent::builder().model(model).on_gadget_error(async |failed| {
///     match failed.about.gadget_name.as_str() {
///         "Cache" => OnGadgetError::Recover("(empty)".to_owned()),
///         _ => OnGadgetError::Continue,
///     }
/// });
/// # agent.ask("2+2")?.text().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnGadgetError {
    /// The model reads the error, and continues.
    #[default]
    Continue,
    /// The call succeeds with this.
    Recover(String),
    /// The run ends as soon as all work in progress is done.
    Stop,
}

/// A controller that decides about failed gadgets.
pub(super) struct GadgetErrors<F>(pub(super) F);

impl<F, R> DynController for GadgetErrors<F>
where
    F: Fn(GadgetDone) -> R + Send + Sync,
    R: Future<Output = OnGadgetError> + Send + 'static,
{
    fn questions(&self) -> Asks {
        Asks {
            after_gadget: true,
            ..Asks::default()
        }
    }

    fn decide<'a>(
        &'a self,
        _: &'a RunContext,
        question: &'a QuestionKind,
    ) -> BoxFuture<'a, Decision> {
        Box::pin(async move {
            let QuestionKind::AfterGadget {
                about,
                result: Err(error),
                duration_ms,
            } = question
            else {
                return Decision::Proceed;
            };
            let failed = GadgetDone {
                about: about.clone(),
                result: Err(error.clone()),
                duration_ms: *duration_ms,
            };
            match (self.0)(failed).await {
                OnGadgetError::Continue => Decision::Proceed,
                OnGadgetError::Recover(result) => Decision::Result(result),
                OnGadgetError::Stop => Decision::Stop,
            }
        })
    }
}
