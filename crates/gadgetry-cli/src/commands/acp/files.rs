//! Files as the editor has them, with changes that are not saved.

use std::path::PathBuf;

use gadgetry_acp::Client;
use gadgetry_builtins::{Editor, EditorAnswer};

/// The files of a client.
#[derive(Debug)]
pub(super) struct ClientFiles(pub(super) Client);

impl Editor for ClientFiles {
    fn read(&self, path: PathBuf) -> EditorAnswer<'_, Option<String>> {
        Box::pin(async move { self.0.read_text_file(&path).await })
    }

    fn write(&self, path: PathBuf, text: String) -> EditorAnswer<'_, bool> {
        Box::pin(async move { self.0.write_text_file(&path, &text).await })
    }
}
