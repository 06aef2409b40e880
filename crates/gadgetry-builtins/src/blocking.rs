//! Work on files, off the threads that serve the run.

use std::io::{self, Read};
use std::sync::Arc;

use gadgetry::{CallPreview, GadgetError, Subject};
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use crate::workspace::{Workspace, WorkspacePath};

/// Bytes of a file that a call looks through.
const SCAN_LIMIT: u64 = 1 << 30;

/// A file that a call looks through. Reading fails after [`SCAN_LIMIT`] bytes, and when the call is cancelled.
pub(crate) struct Scan<'s, R> {
    source: R,
    left: u64,
    is_cancelled: &'s dyn Fn() -> bool,
}

impl<'s, R: Read> Scan<'s, R> {
    pub(crate) fn new(source: R, is_cancelled: &'s dyn Fn() -> bool) -> Self {
        Self {
            source,
            left: SCAN_LIMIT,
            is_cancelled,
        }
    }
}

impl<R: Read> Read for Scan<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_cancelled)() {
            return Err(io::Error::other("cancelled"));
        }
        let count = self.source.read(buffer)?;
        let left = self.left.checked_sub(count as u64);
        let problem = || {
            io::Error::other(format!(
                "more than {SCAN_LIMIT} bytes would have to be looked through"
            ))
        };
        self.left = left.ok_or_else(problem)?;
        Ok(count)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_looked_through_to_a_limit() {
        let check = |is_cancelled: &dyn Fn() -> bool, bytes: u64, expected: &str| {
            let mut scan = Scan::new(io::repeat(b'x').take(bytes), is_cancelled);
            let read = io::copy(&mut scan, &mut io::sink());
            let read = read.map_or_else(|error| error.to_string(), |count| count.to_string());
            assert_eq!(read, expected);
        };
        let limit = "more than 1073741824 bytes would have to be looked through";
        check(&|| false, SCAN_LIMIT, "1073741824");
        check(&|| false, u64::MAX, limit);
        check(&|| true, 0, "cancelled");
    }
}
