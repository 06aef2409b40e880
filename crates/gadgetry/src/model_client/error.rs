//! Errors of model calls by gadgets.

use gadgetry_proto::error::{Classified, Fault, ModelError};

/// Error for a gadget's model call that failed. A gadget that needs the answer fails with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelCallError {
    /// No such model: a mistake in the gadget or in the setup of the run.
    #[error("no model is registered as {name:?}; {}", what_to_do(known))]
    UnknownModel {
        /// The name as requested.
        name: String,
        /// The registered names.
        known: Vec<String>,
    },
    /// The model failed.
    #[error(transparent)]
    Failed(#[from] ModelError),
    /// The reply ended before the model had finished it: without a stop reason, or with one that is not
    /// [clean](gadgetry_proto::delta::StopReason::is_clean).
    #[error("the model's reply was cut off")]
    CutOff,
    /// The gadget's call was cancelled.
    #[error("cancelled before the model answered")]
    Cancelled,
}

impl Classified for ModelCallError {
    fn fault(&self) -> Fault {
        match self {
            Self::UnknownModel { .. } => Fault::Program,
            Self::Failed(error) => error.fault(),
            Self::CutOff => Fault::Model,
            Self::Cancelled => Fault::Caller,
        }
    }

    fn is_retryable(&self) -> bool {
        matches!(self, Self::Failed(error) if error.is_retryable())
    }
}

fn what_to_do(known: &[String]) -> String {
    if known.is_empty() {
        "register it with `AgentBuilder::named_model`, or call the run's own model without a name"
            .to_owned()
    } else {
        format!(
            "registered models: {}; register others with `AgentBuilder::named_model`",
            known.join(", ")
        )
    }
}
