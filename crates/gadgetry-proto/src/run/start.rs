//! A gadget to start, and the call that a question is about.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{CallId, InvocationId};

/// A gadget to start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Start {
    /// The number of the call.
    pub id: CallId,
    /// The id of the call for the model.
    pub invocation_id: InvocationId,
    /// The name as registered.
    pub gadget_name: String,
    /// Coerced, completed with defaults and valid. Shared with the event of the start, and with the run if it may show
    /// them to anyone later.
    pub parameters: Arc<Value>,
    /// Results of the dependencies that succeeded.
    pub dependencies: BTreeMap<InvocationId, Arc<str>>,
    /// Questions to the user that an interrupted execution of the call has asked, with their answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<AnsweredQuestion>,
    /// Costs of the subagents of interrupted executions of the call so far, in US dollars, as the run knows from
    /// their events: by their numbers in the call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub subagent_costs: BTreeMap<u32, f64>,
}

/// A question of a running gadget that the user has answered.
///
/// ```
/// use gadgetry_proto::run::AnsweredQuestion;
/// let text = r#"{ "number": 0, "question": "Which city?", "answer": "Paris" }"#;
/// let kept: AnsweredQuestion = serde_json::from_str(text)?;
/// assert_eq!(kept.answer, "Paris");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredQuestion {
    /// The number of the question among those of its call, from 0.
    pub number: u32,
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: String,
}

/// The call that a question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AboutCall {
    /// The number of the call.
    pub id: CallId,
    /// The id of the call for the model.
    pub invocation_id: InvocationId,
    /// The gadget, as registered.
    pub gadget_name: String,
    /// The parameters: as they went to the gadget, or, if it has not started, as far as they are completed; else as
    /// written. `null` if they could not be read.
    #[serde(default)]
    pub parameters: Value,
}
