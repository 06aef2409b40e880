//! Errors of paths and files. The texts are for the model.

use std::io;
use std::path::PathBuf;

use gadgetry::{Classified, Fault};

use super::path::WorkspacePath;

/// A folder that cannot be a workspace.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the workspace {}: {error}", folder.display())]
pub struct WorkspaceError {
    pub(super) folder: PathBuf,
    pub(super) error: io::Error,
}

impl Classified for WorkspaceError {
    fn fault(&self) -> Fault {
        Fault::Environment
    }
}

/// A file that cannot be read or changed, or a path that is invalid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The path leads outside the workspace.
    #[error("{0} is outside the workspace; use a path relative to it")]
    Outside(String),
    /// The path has a NUL character or is too long.
    #[error("invalid path: {0}")]
    Path(&'static str),
    /// A file of Git's or Mercurial's own.
    #[error(
        "{0} belongs to Git or Mercurial, whose settings and hooks can start programs; use a command of theirs instead"
    )]
    Git(WorkspacePath),
    /// A file that would make its folder a repository of Git.
    #[error(
        "{0} would make its folder a repository of Git, whose settings can start programs; use `git init` instead"
    )]
    Repository(WorkspacePath),
    /// A file from which Git runs code, because its settings name it.
    #[error(
        "{0} is named by Git's settings, as hooks or more settings are, so Git runs what is in it; leave this change to the user"
    )]
    NamedByGit(WorkspacePath),
    /// A file from which this program itself runs code.
    #[error(
        "{0} is, or contains, a program, a script or settings of the agent itself; leave this change to the user"
    )]
    Protected(WorkspacePath),
    /// A folder with a repository of Git in it, which is not deleted.
    #[error("{0} contains a repository of Git, which is not deleted; delete what is next to it")]
    HasRepository(WorkspacePath),
    /// A link that leads to nothing.
    #[error("{0} is a broken symbolic link")]
    BrokenLink(String),
    /// A folder where a file is needed.
    #[error("{0} is a folder; ListDirectory lists it")]
    IsFolder(WorkspacePath),
    /// A device, a pipe or a socket.
    #[error("{0} is not a regular file")]
    NotAFile(WorkspacePath),
    /// A file with several names, of which some may be outside the workspace.
    #[error(
        "{0} has {1} hard links, so its content may belong to a file outside the workspace; copy it to a new file first"
    )]
    HardLinks(WorkspacePath, u64),
    /// More bytes than allowed.
    #[error("{path} has {bytes} bytes, more than the {limit} allowed")]
    TooLarge {
        /// The file.
        path: WorkspacePath,
        /// Size of the file.
        bytes: u64,
        /// The most that is allowed.
        limit: u64,
    },
    /// A folder that is not empty.
    #[error("{0} is a folder that is not empty; set recursive to true to delete everything in it")]
    NotEmpty(WorkspacePath),
    /// The workspace itself.
    #[error("the workspace itself cannot be deleted")]
    Root,
    /// A change cannot be undone.
    #[error("{0} has been changed since; it was left as it is")]
    ChangedSince(WorkspacePath),
    /// A change that cannot be undone, because the contents were not kept.
    #[error(
        "{0} was changed by a command and is left as it is, because its content was not kept: it is large, or cannot be read"
    )]
    NotKept(WorkspacePath),
    /// More files than a checkpoint covers.
    #[error("the workspace has more than {0} files, so changes by commands are not recorded")]
    TooManyFiles(usize),
    /// The folder of a file was moved, or became a repository, while the file was changed.
    #[error(
        "{path}: its folder was moved, or became a repository of Git, meanwhile; {}",
        match kept {
            None => "nothing has changed, so try again".to_owned(),
            Some(error) => format!("the file was written there, and that could not be undone: {error}"),
        }
    )]
    Moved {
        /// The file.
        path: WorkspacePath,
        /// Reason that the write could not be undone; `None` if nothing has changed.
        kept: Option<io::Error>,
    },
    /// The system refused.
    #[error("{path}: {}", words(error))]
    Io {
        /// The path as given.
        path: String,
        /// The cause.
        error: io::Error,
    },
}

impl Classified for FileError {
    fn fault(&self) -> Fault {
        if matches!(self, Self::Io { .. } | Self::Moved { .. }) {
            Fault::Environment
        } else {
            Fault::Model
        }
    }

    fn is_retryable(&self) -> bool {
        matches!(self, Self::Moved { kept: None, .. })
    }
}

impl FileError {
    /// The same error about another path.
    pub(super) fn about(self, path: &WorkspacePath) -> Self {
        let Self::Io { error, .. } = self else {
            return self;
        };
        Self::io(path, error)
    }

    pub(crate) fn io(path: &(impl ToString + ?Sized), error: io::Error) -> Self {
        let path = path.to_string();
        if is_escape(&error) {
            return Self::Outside(path);
        }
        Self::Io { path, error }
    }
}

/// Returns whether the system or `cap-std` refused a path that leads outside.
fn is_escape(error: &io::Error) -> bool {
    /// `EXDEV`, of `openat2` below a folder.
    const CROSSES: i32 = 18;
    error.raw_os_error() == Some(CROSSES)
        || (error.raw_os_error().is_none()
            && error.kind() == io::ErrorKind::PermissionDenied
            && error.to_string().contains("outside"))
}

/// `ELOOP` of Linux.
const LOOP: i32 = 40;

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the system says the others well"
)]
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a folder".to_owned(),
        _ if error.raw_os_error() == Some(LOOP) => {
            "a part of the path has become a symbolic link".to_owned()
        }
        _ => error.to_string(),
    }
}
