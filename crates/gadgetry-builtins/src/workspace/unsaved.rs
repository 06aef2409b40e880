//! Texts as an editor has them, with changes that are not saved.

use std::path::PathBuf;
use std::sync::Arc;

use cap_std::fs::Metadata;

use super::editor::{Editor, Terminal, wait};
use super::error::FileError;
use super::place::{Place, WRITE_LIMIT};
use super::{Workspace, WorkspacePath};

impl Workspace {
    /// Has texts read and written through an editor, and commands without a sandbox run in its terminals. Its answers are awaited on the thread of the caller, within a runtime of tokio.
    #[must_use]
    pub fn with_editor(mut self, editor: Arc<dyn Editor>) -> Self {
        self.editor = Some(editor);
        self
    }

    /// The terminals of the editor.
    pub(crate) fn terminal(&self) -> Option<&dyn Terminal> {
        self.editor.as_ref()?.terminal()
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
