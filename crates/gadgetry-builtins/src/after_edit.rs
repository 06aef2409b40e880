//! Commands that run after a file was changed, for diagnostics.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use gadgetry::{CallPreview, ExecutionContext, GadgetError};
use globset::GlobMatcher;
use tokio::sync::Mutex;

use crate::blocking::blocking;
use crate::glob::matcher;
use crate::shell::{Line, Shell};
use crate::workspace::WorkspacePath;

/// Text in the result of an edit before each command that ran after it; its line, its status and its output follow.
pub const AFTER_EDIT: &str = "\n\nafter the edit: ";

/// Bytes of each of stdout and stderr that are kept.
const OUTPUT: usize = 8 << 10;
/// The time that a command has, if its owner does not say.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A command line that runs in the workspace after `WriteFile` or `EditFile` has changed a file, for diagnostics. The model reads its
/// status and output with the result of the change.
///
/// It runs as the command lines of `RunCommand` do, in the sandbox if that is on, but needs no approval: it is the program's, not the
/// model's. Its variable `GADGETRY_FILE` is the file, such as `./src/main.rs`.
///
/// ```
/// use gadgetry_builtins::{AfterEdit, Builtins};
/// # use gadgetry::GadgetError;
/// let check = AfterEdit::new("cargo check -q").files(["*.rs", "Cargo.toml"])?;
/// let builtins = Builtins::in_dir(".").map_err(GadgetError::from)?.after_edit([check]);
/// # Ok::<(), GadgetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct AfterEdit {
    command: String,
    /// The files that it is about; all files if it is empty.
    files: Vec<GlobMatcher>,
    timeout: Duration,
}

impl AfterEdit {
    /// A command line for `sh -c` that runs after a change of any file, for at most a minute.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            files: Vec::new(),
            timeout: TIMEOUT,
        }
    }

    /// Adds globs of the files after whose change it runs. A glob without `/` matches the name of a file in any folder.
    ///
    /// # Errors
    ///
    /// [`GadgetError`] if a glob is invalid.
    pub fn files<G: AsRef<str>>(
        mut self,
        globs: impl IntoIterator<Item = G>,
    ) -> Result<Self, GadgetError> {
        for glob in globs {
            self.files.push(matcher(glob.as_ref())?);
        }
        Ok(self)
    }

    /// Sets the time after which it is ended.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    fn is_about(&self, path: &WorkspacePath) -> bool {
        let mut files = self.files.iter();
        self.files.is_empty() || files.any(|it| it.is_match(path.as_path()))
    }
}

/// The commands of a workspace. One of them runs at a time.
#[derive(Debug)]
pub(crate) struct AfterEdits {
    pub(crate) shell: Shell,
    pub(crate) all: Vec<AfterEdit>,
    pub(crate) turn: Mutex<()>,
}

impl AfterEdits {
    /// Adds the commands to the preview of a change, which the user approves with it.
    pub(crate) fn noted(&self, path: &WorkspacePath, preview: CallPreview) -> CallPreview {
        let about = self.all.iter().filter(|it| it.is_about(path));
        about.fold(preview, |preview, it| {
            preview.note(format!("and then runs: {}", it.command))
        })
    }

    /// Runs the commands about a file that now has this content, and returns the result of its change with theirs. A command that
    /// cannot be run does not make the change fail.
    pub(crate) async fn run(
        &self,
        path: &WorkspacePath,
        content: &[u8],
        mut result: String,
        context: &ExecutionContext,
    ) -> String {
        let mut has_run = false;
        for command in self.all.iter().filter(|it| it.is_about(path)) {
            let ran = self.one(command, path, context).await;
            let said = ran.unwrap_or_else(|error| format!("{error}\n"));
            // Writing to a string cannot fail.
            let _ = write!(result, "{AFTER_EDIT}{}\n{said}", command.command);
            has_run = true;
        }
        if has_run && !self.is_as_written(path, content).await {
            let _ = write!(
                result,
                "\n[{path} has been changed since, perhaps by a command; read it again before the next edit]\n"
            );
        }
        result
    }

    async fn one(
        &self,
        command: &AfterEdit,
        path: &WorkspacePath,
        context: &ExecutionContext,
    ) -> Result<String, GadgetError> {
        let cancellation = context.cancellation();
        let _turn = tokio::select! {
            biased;
            turn = self.turn.lock() => turn,
            () = cancellation.cancelled() => return Err(GadgetError::cancelled()),
        };
        let workspace = Arc::clone(&self.shell.workspace);
        let root = WorkspacePath::root();
        let folder = blocking(move || Ok(workspace.open_folder(&WorkspacePath::root())?)).await?;
        let file = format!("./{path}");
        let line = Line {
            text: &command.command,
            path: &root,
            folder: &folder,
            variables: &[("GADGETRY_FILE", &file)],
            is_read_only: false,
            timeout: command.timeout,
            output: OUTPUT,
            watch: &|_| {},
        };
        self.shell.run(&line, cancellation).await
    }

    async fn is_as_written(&self, path: &WorkspacePath, content: &[u8]) -> bool {
        let (workspace, path) = (Arc::clone(&self.shell.workspace), path.clone());
        let now = blocking(move || Ok(workspace.content(&path)?)).await;
        now.is_ok_and(|now| now.as_deref() == Some(content))
    }
}
