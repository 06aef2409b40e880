//! Approvals: what the user is shown about a call, and the answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::ApprovalId;

/// A call that waits for approval, as the user sees it.
///
/// ```
/// use gadgetry_proto::event::{Approval, ApprovalSubject, SubjectKind};
/// use gadgetry_proto::id::{ApprovalId, CallId};
///
/// let id = ApprovalId { call: CallId(0), shown: 7 };
/// let mut approval = Approval::new(id, "RunCommand", serde_json::json!({ "command": "make" }));
/// approval.subject = Some(ApprovalSubject::new(SubjectKind::Command, "make"));
/// assert_eq!(serde_json::to_value(&approval)?["subject"]["kind"], "command");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Approval {
    /// The id that an answer names.
    #[serde(rename = "approval")]
    pub id: ApprovalId,
    /// The gadget, as registered.
    pub gadget_name: String,
    /// The parameters that the gadget would receive.
    #[serde(default)]
    pub parameters: Arc<Value>,
    /// The target of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<ApprovalSubject>,
    /// The change of a file, as a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Further facts in the words of the gadget, a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The server that defines the gadget, if it is a tool of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl Approval {
    /// An approval of a call, without a preview.
    pub fn new(
        id: ApprovalId,
        gadget_name: impl Into<String>,
        parameters: impl Into<Arc<Value>>,
    ) -> Self {
        Self {
            id,
            gadget_name: gadget_name.into(),
            parameters: parameters.into(),
            subject: None,
            diff: None,
            notes: Vec::new(),
            server: None,
        }
    }
}

/// The target of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ApprovalSubject {
    /// The kind of the target.
    pub kind: SubjectKind,
    /// The path, URL or command line.
    pub text: String,
    /// The folder that a command runs in, if it is not the root of the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

impl ApprovalSubject {
    /// A target without a folder.
    pub fn new(kind: SubjectKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            folder: None,
        }
    }
}

/// The kind of the target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum SubjectKind {
    /// A file.
    Path,
    /// A folder with everything in it.
    Folder,
    /// A command line for a shell.
    Command,
    /// A URL.
    Url,
}

/// The answer to an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(
    tag = "answer",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum ApprovalAnswer {
    /// The call runs.
    Allowed,
    /// The call does not run.
    Denied {
        /// The reason that the user gave.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The question no longer matters: the run was cancelled, or something else has decided about the call.
    Withdrawn,
}
