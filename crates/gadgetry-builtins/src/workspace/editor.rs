//! An editor that has files of the workspace open.

use std::fmt::Debug;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cap_std::fs::Metadata;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::error::FileError;
use super::place::{Place, WRITE_LIMIT};
use super::{Workspace, WorkspacePath};

/// Maximum time for an answer of the editor; then the file on disk counts.
const PATIENCE: Duration = Duration::from_secs(10);

/// What an editor will answer.
pub type EditorAnswer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// An editor that has files open, perhaps with changes that are not saved. Gadgets read texts as it has them, and write them through
/// it. Which files they are is decided before, as for files on disk.
pub trait Editor: Debug + Send + Sync {
    /// Returns the text of a file as the editor has it; `None` if that on disk counts. The path is absolute.
    fn read(&self, path: PathBuf) -> EditorAnswer<'_, Option<String>>;

    /// Writes a file, and returns whether that was done; if not, it is written on disk. The path is absolute, and its folder exists.
    fn write(&self, path: PathBuf, text: String) -> EditorAnswer<'_, bool>;
}

impl Workspace {
    /// Has texts read and written through an editor. Its answers are awaited on the thread of the caller, within a runtime of tokio.
    #[must_use]
    pub fn with_editor(mut self, editor: Arc<dyn Editor>) -> Self {
        self.editor = Some(editor);
        self
    }

    /// The text of a file in the editor, if it differs from that on disk.
    pub(crate) fn unsaved(&self, path: &WorkspacePath) -> Option<Vec<u8>> {
        self.editor.as_ref()?;
        let on_disk = self.read(path, WRITE_LIMIT).ok()?;
        self.in_editor(path, &on_disk)
    }

    /// The content of a file that is to be changed, as the editor has it.
    pub(super) fn content_of(
        &self,
        place: &Place,
    ) -> Result<Option<(Vec<u8>, Metadata)>, FileError> {
        let on_disk = place.content(self.hard_links)?;
        Ok(on_disk.map(|(bytes, metadata)| {
            let edited = self.in_editor(&place.path, &bytes);
            (edited.unwrap_or(bytes), metadata)
        }))
    }

    fn in_editor(&self, path: &WorkspacePath, on_disk: &[u8]) -> Option<Vec<u8>> {
        let editor = self.editor.as_ref()?;
        let on_disk = std::str::from_utf8(on_disk).ok()?;
        let text = wait(editor.read(self.absolute(path)))??;
        // Editors leave out how lines end, and the mark at the beginning.
        let is_same = without_marks(&text).eq(without_marks(on_disk));
        (!is_same && text.len() as u64 <= WRITE_LIMIT).then(|| text.into_bytes())
    }

    /// Writes a text through the editor. Returns whether that was done.
    pub(super) fn put_in_editor(&self, place: &Place, content: &[u8]) -> Result<bool, FileError> {
        let Some(editor) = &self.editor else {
            return Ok(false);
        };
        let Ok(text) = std::str::from_utf8(content) else {
            return Ok(false);
        };
        let parent = place.prepare(content)?;
        self.refuse_moved_to(place, &parent)?;
        let written = wait(editor.write(self.absolute(&place.path), text.to_owned()));
        Ok(written.unwrap_or(false))
    }

    fn absolute(&self, path: &WorkspacePath) -> PathBuf {
        self.root().join(path.as_path())
    }
}

fn without_marks(text: &str) -> impl Iterator<Item = u8> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.bytes().filter(|byte| *byte != b'\r')
}

/// Waits for the editor, for a while. On a thread of its own: that of the caller may be one that must not wait for futures.
fn wait<T: Send>(answer: EditorAnswer<'_, T>) -> Option<T> {
    let runtime = Handle::try_current().ok()?;
    thread::scope(|scope| {
        let waiting = move || runtime.block_on(async { timeout(PATIENCE, answer).await.ok() });
        let waiting = thread::Builder::new().spawn_scoped(scope, waiting).ok()?;
        waiting.join().ok().flatten()
    })
}
