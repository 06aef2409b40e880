//! `AskUser`, `TellUser` and `Finish`.

use gadgetry::proto::schema::OnInterrupt;
use gadgetry::{ExecutionContext, Gadget, GadgetError, GadgetInfo};
use schemars::JsonSchema;
use serde::Deserialize;

/// Asks the user.
#[derive(Debug)]
pub(crate) struct AskUser;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskUserParams {
    #[schemars(length(min = 1))]
    question: String,
}

impl Gadget for AskUser {
    type Params = AskUserParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new(
            "AskUser",
            "Asks the user what neither the files nor the conversation say.",
        )
        .on_interrupt(OnInterrupt::Rerun)
    }

    async fn execute(
        &self,
        params: AskUserParams,
        _context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        Err(GadgetError::human_input_required(params.question))
    }
}

/// Shows a message to the user.
#[derive(Debug)]
pub(crate) struct TellUser;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TellUserParams {
    #[serde(default)]
    message: String,
    #[serde(default, rename = "type")]
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Info,
    Success,
    Warning,
    Error,
}

impl Gadget for TellUser {
    type Params = TellUserParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new(
            "TellUser",
            "Shows the user a message while you continue. The final answer is plain text instead.",
        )
        .on_interrupt(OnInterrupt::Rerun)
    }

    async fn execute(
        &self,
        params: TellUserParams,
        _context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        let message = params.message.trim();
        if message.is_empty() {
            return Err("the message is empty; write what the user should read".into());
        }
        let prefix = match params.kind {
            Kind::Info => "ℹ️",
            Kind::Success => "✅",
            Kind::Warning => "⚠️",
            Kind::Error => "❌",
        };
        Ok(format!("{prefix} {message}"))
    }
}

/// Ends the run at the request of the model.
#[derive(Debug)]
pub(crate) struct Finish;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinishParams {
    #[serde(default = "completed")]
    message: String,
}

fn completed() -> String {
    "Task completed".to_owned()
}

impl Gadget for Finish {
    type Params = FinishParams;
    type Output = String;

    fn info(&self) -> GadgetInfo {
        GadgetInfo::new(
            "Finish",
            "Ends the task after the other calls of the reply. The message is the answer.",
        )
        .on_interrupt(OnInterrupt::Rerun)
    }

    async fn execute(
        &self,
        params: FinishParams,
        _context: ExecutionContext,
    ) -> Result<String, GadgetError> {
        Err(GadgetError::task_complete(params.message))
    }
}
