//! Messages while commands of `[[hooks]]` decide about them. The screen stays alive meanwhile, and Esc ends them.

use std::future::pending;

use tokio::task::JoinHandle;

use super::prompt::Prompt;
use super::talk::Talk;
use crate::error::Error;
use crate::hooks::Submitted;

/// A message about which commands decide. Dropping it ends them.
pub(super) struct Submitting {
    pub(super) prompt: Prompt,
    /// Whether it is for the run in progress.
    pub(super) is_added: bool,
    task: JoinHandle<Result<Submitted, Error>>,
}

impl Submitting {
    pub(super) fn start(talk: &Talk, prompt: Prompt, is_added: bool) -> Self {
        let (moments, full) = (talk.moments().clone(), prompt.full.clone());
        let session = talk.name().map(ToString::to_string);
        let task = tokio::spawn(async move { moments.submit(session.as_deref(), &full).await });
        Self {
            prompt,
            is_added,
            task,
        }
    }
}

impl Drop for Submitting {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for the decision about a message, if there is one.
pub(super) async fn submitted(submitting: &mut Option<Submitting>) -> Result<Submitted, Error> {
    match submitting {
        Some(submitting) => {
            let done = (&mut submitting.task).await;
            done.unwrap_or_else(|error| Err(Error::bug(&error)))
        }
        None => pending().await,
    }
}
