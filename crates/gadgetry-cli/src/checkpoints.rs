//! Changes of files by commands and by gadgets that are not built in, recorded so that the user can undo them.

use std::sync::{Arc, Mutex, PoisonError};

use gadgetry::DynGadget;
use gadgetry_builtins::{Checkpoint, FileError, NAMES};
use tokio::task::spawn_blocking;

use crate::modes::RUN_COMMAND;
use crate::subagents::RUN_AGENT;
use crate::workspaces::Workspaces;
use crate::wrapped::wrapped;

/// Gadgets that change no files themselves, or whose changes the workspace records.
const OTHERS: [&str; 2] = ["LoadSkill", RUN_AGENT];

/// The places where such changes are recorded. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checkpoints {
    workspaces: Workspaces,
    /// Why they are not recorded.
    problem: Arc<Mutex<Problem>>,
}

#[derive(Debug, Default)]
struct Problem {
    words: Option<String>,
    /// Whether it was taken, so that it is not said again.
    #[cfg(feature = "chat")]
    is_known: bool,
}

impl Checkpoints {
    /// Records in the current one of these workspaces.
    pub(crate) fn of(workspaces: Workspaces) -> Self {
        Self {
            workspaces,
            problem: Arc::default(),
        }
    }

    /// Returns whether a gadget of this name may change files without the workspace's knowledge.
    pub(crate) fn are_for(gadget: &str) -> bool {
        gadget == RUN_COMMAND || !NAMES.contains(&gadget) && !OTHERS.contains(&gadget)
    }

    /// The same gadget; what its calls change is recorded if it may change files.
    pub(crate) fn watch(&self, gadget: Arc<dyn DynGadget>) -> Arc<dyn DynGadget> {
        if !Self::are_for(&gadget.spec().name) {
            return gadget;
        }
        let checkpoints = self.clone();
        wrapped(gadget, move |work, _| {
            let checkpoints = checkpoints.clone();
            Box::pin(async move { checkpoints.record(work).await })
        })
    }

    /// The files that were changed, by their paths in their workspace: by built-in gadgets, and by what is recorded here.
    pub(crate) fn changed(&self) -> Vec<String> {
        self.workspaces.changed()
    }

    /// Records what `work` changes.
    async fn record<T>(&self, work: impl Future<Output = T>) -> T {
        let checkpoint = match self.workspaces.current() {
            Some(workspace) => self.blocking(move || workspace.checkpoint()).await,
            None => None,
        };
        let done = work.await;
        if let Some(checkpoint) = checkpoint {
            self.blocking(move || Checkpoint::close(checkpoint)).await;
        }
        done
    }

    /// Takes the reason that changes are not recorded, once.
    #[cfg(feature = "chat")]
    pub(crate) fn take_problem(&self) -> Option<String> {
        let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if problem.words.is_none() || problem.is_known {
            return None;
        }
        problem.is_known = true;
        problem.words.clone()
    }

    /// Returns the reason that changes are not recorded.
    pub(crate) fn problem(&self) -> Option<String> {
        let problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        problem.words.clone()
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
    ) -> Option<T> {
        match spawn_blocking(work).await.ok()? {
            Ok(done) => Some(done),
            Err(error) => {
                let mut problem = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
                problem.words = Some(error.to_string());
                None
            }
        }
    }
}
