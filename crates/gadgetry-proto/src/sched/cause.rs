//! Causes for which a call cannot run, and their texts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::CallId;
use crate::id::InvocationId;
use crate::sched::job::Unmet;

/// Characters of a dependency's error that a skipped call repeats; of several paragraphs, those of the first.
const SHOWN: usize = 500;

/// The cause for which a dependency is not met. The error of a failed call is shared by all that depend on it.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) enum Cause {
    OnlyItself,
    Failed(InvocationId, Arc<str>),
    Skipped(InvocationId),
    Missing(InvocationId),
    Circular(InvocationId),
    CircularAndMissing {
        circular: Vec<InvocationId>,
        missing: Vec<InvocationId>,
    },
}

impl Cause {
    /// The cause, as text for the call `own`.
    pub(super) fn explain(&self, id: CallId, own: &InvocationId) -> Unmet {
        let shown = own.visible();
        let (dependency, error) = match self {
            Self::OnlyItself => (
                own,
                format!("Gadget \"{shown}\" cannot depend on itself (self-referential dependency)"),
            ),
            Self::Failed(dependency, error) if error.is_empty() => {
                (dependency, "Dependency failed".to_owned())
            }
            Self::Failed(dependency, error) => (dependency, error.to_string()),
            Self::Skipped(dependency) => (
                dependency,
                format!("Dependency \"{}\" was skipped", dependency.visible()),
            ),
            Self::Missing(dependency) => (
                dependency,
                format!(
                    "Dependency \"{}\" was never executed - \
                     check that the invocation ID exists and is spelled correctly",
                    dependency.visible()
                ),
            ),
            Self::Circular(dependency) => (
                dependency,
                format!(
                    "Circular dependency detected: \"{shown}\" depends on \"{}\" \
                     which also depends on \"{shown}\" (directly or indirectly)",
                    dependency.visible()
                ),
            ),
            Self::CircularAndMissing { circular, missing } => (
                circular.first().unwrap_or(own),
                format!(
                    "Dependencies unresolvable: circular=[{}], missing=[{}]",
                    list(circular),
                    list(missing)
                ),
            ),
        };
        Unmet {
            id,
            failed_dependency: dependency.to_string(),
            told: self.tell(&error),
            error,
        }
    }

    /// The words for the model. It has read the whole error as the answer to the failed call.
    fn tell(&self, error: &str) -> String {
        match self {
            Self::Failed(dependency, cause) if cause.is_empty() => {
                format!("Skipped: dependency \"{}\" failed", dependency.visible())
            }
            Self::Failed(dependency, _) => {
                let error = error.split("\n\n").next().unwrap_or_default();
                let more = if error.chars().nth(SHOWN).is_some() {
                    "…"
                } else {
                    ""
                };
                let error: String = error.chars().take(SHOWN).collect();
                format!(
                    "Skipped: dependency \"{}\" failed: {error}{more}",
                    dependency.visible()
                )
            }
            Self::Skipped(_) | Self::Missing(_) => skipped(&error.replacen('D', "d", 1)),
            Self::OnlyItself | Self::Circular(_) | Self::CircularAndMissing { .. } => {
                skipped(error)
            }
        }
    }
}

fn skipped(error: &str) -> String {
    format!("Skipped: {error}")
}

/// The error of a call whose id is taken.
pub(super) fn duplicate(id: &InvocationId) -> String {
    let id = id.visible();
    format!(
        "Duplicate invocation ID \"{id}\": an earlier call of this response already has it. \
         Use a different ID for each call."
    )
}

/// The error of a call that exceeds the limit of its reply.
pub(crate) fn over_limit(id: CallId, limit: u32) -> Unmet {
    let error =
        format!("Gadget limit ({limit}) exceeded. Consider calling fewer gadgets per response.");
    Unmet {
        id,
        failed_dependency: "maxGadgetsPerResponse".to_owned(),
        told: skipped(&error),
        error,
    }
}

fn list(ids: &[InvocationId]) -> String {
    let ids: Vec<_> = ids.iter().map(InvocationId::visible).collect();
    ids.join(", ")
}
