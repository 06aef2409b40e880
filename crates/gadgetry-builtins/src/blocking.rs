//! Work on files, off the threads that serve the run.

use std::sync::Arc;

use gadgetry::{CallPreview, GadgetError, Subject};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use crate::workspace::{Workspace, WorkspacePath};

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

/// Returns the subject of a call that only reads: a file, or a folder with everything in it.
pub(crate) fn reads(workspace: &Workspace, path: &WorkspacePath) -> CallPreview {
    let text = path.to_string();
    CallPreview::of(if workspace.is_folder(path) {
        Subject::Folder(text)
    } else {
        Subject::Path(text)
    })
}

/// The preview of a call that only reads `path`.
pub(crate) async fn preview_of(
    workspace: &Arc<Workspace>,
    path: String,
) -> Result<CallPreview, GadgetError> {
    let workspace = Arc::clone(workspace);
    blocking(move || Ok(reads(&workspace, &workspace.resolve(&path)?))).await
}

/// The file that a call would write, and the hashes of what it has now and then. Without the diff.
pub(crate) fn writes(path: &WorkspacePath, before: Option<&[u8]>, after: &[u8]) -> CallPreview {
    let hash = |bytes: &[u8]| format!("{:x?}", Sha256::digest(bytes));
    let before = before.map_or_else(|| "no file".to_owned(), hash);
    let preview = CallPreview::of(Subject::Path(path.to_string()));
    preview.bound_to(before).bound_to(hash(after))
}

/// The default of a parameter that names a folder: the workspace.
pub(crate) fn whole_workspace() -> String {
    ".".to_owned()
}
