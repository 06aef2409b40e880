//! Work on files, off the threads that serve the run.

use std::sync::Arc;

use gadgetry::{CallPreview, GadgetError, Subject};
use tokio::task::spawn_blocking;

use crate::workspace::Workspace;

/// Runs `work` on a thread for blocking work. Dropping the future does not stop the work: a change of a file is complete or
/// has not happened.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, GadgetError> + Send + 'static,
) -> Result<T, GadgetError> {
    match spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(GadgetError::new(format_args!("internal error: {error}"))),
    }
}

/// The preview of a call that only reads `path`.
pub(crate) async fn preview_of(
    workspace: &Arc<Workspace>,
    path: String,
) -> Result<CallPreview, GadgetError> {
    let workspace = Arc::clone(workspace);
    blocking(move || {
        let path = workspace.resolve(&path)?;
        Ok(CallPreview::of(Subject::Path(path.to_string())))
    })
    .await
}

/// The default of a parameter that names a folder: the workspace.
pub(crate) fn whole_workspace() -> String {
    ".".to_owned()
}
