//! The folders of built-in gadgets, and the changes of files that can be undone.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gadgetry_builtins::{Editor, Workspace, WorkspaceError};

/// The workspaces that were opened. Agents that are built one after the other share them, and so one history of changes.
/// Clones share them, too.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspaces(Arc<Mutex<Opened>>);

#[derive(Debug, Default)]
struct Opened {
    /// Has files of the workspaces open.
    editor: Option<Arc<dyn Editor>>,
    all: Vec<Arc<Workspace>>,
    current: Option<Arc<Workspace>>,
}

impl Workspaces {
    /// No workspaces yet. Texts in those that are opened are read and written through an editor.
    #[cfg(feature = "acp")]
    pub(crate) fn in_editor(editor: Arc<dyn Editor>) -> Self {
        let opened = Opened {
            editor: Some(editor),
            ..Opened::default()
        };
        Self(Arc::new(Mutex::new(opened)))
    }

    /// The workspace of a folder, which is the current one from now on: one that was opened before if it is the same folder.
    pub(crate) fn open(&self, folder: &Path) -> Result<Arc<Workspace>, WorkspaceError> {
        let new = Workspace::open(folder)?;
        let mut opened = self.lock();
        let new = Arc::new(match &opened.editor {
            Some(editor) => new.with_editor(Arc::clone(editor)),
            None => new,
        });
        let known = opened.all.iter().find(|it| it.root() == new.root());
        let workspace = known.cloned().unwrap_or_else(|| {
            opened.all.push(Arc::clone(&new));
            new
        });
        opened.current = Some(Arc::clone(&workspace));
        Ok(workspace)
    }

    /// The files that built-in gadgets have changed, by their paths in their workspace.
    pub(crate) fn changed(&self) -> Vec<String> {
        let opened = self.lock();
        let files = opened.all.iter().flat_map(|it| it.changed());
        files.map(|it| it.to_string()).collect()
    }

    /// The workspace that was opened last.
    pub(crate) fn current(&self) -> Option<Arc<Workspace>> {
        self.lock().current.clone()
    }

    /// Makes another one the current one.
    #[cfg(feature = "chat")]
    pub(crate) fn select(&self, workspace: Option<Arc<Workspace>>) {
        self.lock().current = workspace;
    }

    fn lock(&self) -> MutexGuard<'_, Opened> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
