//! The names of questions.

use gadgetry_proto::id::CallId;
use gadgetry_proto::run::QuestionId;
use serde::{Deserialize, Serialize};

/// Names a question of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QuestionRef {
    /// One of the run itself.
    Run(QuestionId),
    /// One of a gadget.
    Gadget {
        /// Its call.
        call: CallId,
        /// Which of the questions of the call, from 0.
        number: u32,
    },
}

/// A question that waits for an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenQuestion {
    /// Its name.
    pub id: QuestionRef,
    /// What it asks.
    pub text: String,
}
