//! The identity of a run.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::CallId;

/// The identity of a run: its id among other runs, and the facts that its caller gives.
///
/// ```
/// use gadgetry_proto::event::RunInfo;
/// let mut info = RunInfo::new("order-7", "anthropic:claude-haiku-4-5");
/// info.agent = Some("clerk".into());
/// info.metadata.insert("tenant".into(), "acme".into());
/// assert_eq!(
///     serde_json::to_string(&info)?,
///     r#"{"id":"order-7","agent":"clerk","model":"anthropic:claude-haiku-4-5","metadata":{"tenant":"acme"}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RunInfo {
    /// The id of the run. That of a subagent is the id of its parent, the call and the number of the subagent: `order-7/5.0`.
    pub id: Arc<str>,
    /// The run and the call that started it, if it is a subagent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunParent>,
    /// The name of the agent, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
    /// The name of the model; empty for a single call.
    pub model: Arc<str>,
    /// Whether the run is one call that no model has written, such as that of an MCP client. It has no events about model calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub single_call: bool,
    /// The time at which the run was created, in milliseconds since 1970 (Unix time). A log from before this field has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_ms: Option<u64>,
    /// Data of the caller about the run: a user, a tenant, the id of a request.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl RunInfo {
    /// Creates the identity of a run without a parent.
    pub fn new(id: impl Into<Arc<str>>, model: impl Into<Arc<str>>) -> Self {
        Self {
            id: id.into(),
            parent: None,
            agent: None,
            model: model.into(),
            single_call: false,
            start_ms: None,
            metadata: Map::new(),
        }
    }

    /// Returns whether this is the run with the id `run`, or one of its subagents.
    ///
    /// ```
    /// use gadgetry_proto::event::RunInfo;
    /// let subagent = RunInfo::new("order-7/5.0", "haiku");
    /// assert!(subagent.is_within("order-7"));
    /// assert!(!RunInfo::new("order-70", "haiku").is_within("order-7"));
    /// ```
    pub fn is_within(&self, run: &str) -> bool {
        let rest = self.id.strip_prefix(run);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// The call that has started a subagent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RunParent {
    /// The id of the run of the call.
    pub run: Arc<str>,
    /// The call in that run.
    pub call: CallId,
}

impl RunParent {
    /// The call with this number of a run.
    pub fn new(run: impl Into<Arc<str>>, call: CallId) -> Self {
        Self {
            run: run.into(),
            call,
        }
    }
}
