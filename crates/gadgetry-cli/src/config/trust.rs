//! Whether the project's file is trusted: nothing in a cloned repository acts without the user's consent.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gadgetry::files;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::Error;
use crate::input::unreadable;

/// The file in the user's configuration folder.
const FILE: &str = "trusted.json";
/// Bytes of it.
const LIMIT: u64 = 1 << 20;
/// Bytes of the files that a configuration file names, together.
const NAMED_LIMIT: u64 = 64 << 20;
/// Projects that are remembered at most; the oldest are forgotten.
const PROJECTS: usize = 1000;

/// What the user has decided about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It is used.
    Trusted,
    /// It is not used, and the user is not prompted.
    Declined,
    /// The user has decided about another content.
    Changed,
    /// The user has not decided.
    Unknown,
}

/// The decisions of the user.
#[derive(Debug)]
pub(crate) struct Trust {
    /// `None` without a home directory.
    path: Option<PathBuf>,
    decisions: Decisions,
}

/// The file as written.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decisions {
    /// The latest last.
    projects: Vec<Project>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Project {
    file: String,
    sha256: String,
    trusted: bool,
}

impl Trust {
    /// Reads the decisions. `folder` is the user's configuration folder.
    pub(crate) fn load(folder: Option<&Path>) -> Result<Self, Error> {
        let path = folder.map(|folder| folder.join(FILE));
        let decisions = match &path {
            Some(path) => read_private(path)?,
            None => Decisions::default(),
        };
        Ok(Self { path, decisions })
    }

    /// What is decided about a file with this content.
    pub(crate) fn decision(&self, file: &Path, sha256: &str) -> Decision {
        match self.project(file) {
            None => Decision::Unknown,
            Some(project) if project.sha256 != sha256 => Decision::Changed,
            Some(project) if project.trusted => Decision::Trusted,
            Some(_) => Decision::Declined,
        }
    }

    /// Whether anything is decided about a file.
    pub(crate) fn knows(&self, file: &Path) -> bool {
        self.project(file).is_some()
    }

    fn project(&self, file: &Path) -> Option<&Project> {
        let projects = &self.decisions.projects;
        let file = file.to_str()?;
        projects.iter().find(|project| project.file == file)
    }

    /// Remembers a decision; `None` forgets it.
    pub(crate) fn decide(&mut self, file: &Path, decision: Option<(&str, bool)>) -> io::Result<()> {
        let no_home = || io::Error::other("no home directory in the environment");
        let path = self.path.as_ref().ok_or_else(no_home)?;
        let not_unicode = || io::Error::other("the name of the folder is not UTF-8");
        let file = file.to_str().ok_or_else(not_unicode)?;
        let projects = &mut self.decisions.projects;
        projects.retain(|project| project.file != file);
        if let Some((sha256, trusted)) = decision {
            let forgotten = (projects.len() + 1).saturating_sub(PROJECTS);
            projects.drain(..forgotten);
            projects.push(Project {
                file: file.to_owned(),
                sha256: sha256.to_owned(),
                trusted,
            });
        }
        write_private(path, &self.decisions)
    }
}

/// Reads a file of decisions; the default if it is not there.
pub(crate) fn read_private<T: Default + DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let text = match files::text(path, LIMIT) {
        Ok(text) => text,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(T::default());
        }
        Err(error) => return Err(unreadable(path.display(), &error)),
    };
    let decisions = serde_json::from_str(&text);
    decisions.map_err(|error| {
        Error::at(
            path.display(),
            format_args!("{error}; remove the file, and trust your projects again"),
        )
    })
}

/// Replaces a file of decisions at once. Only its owner can read it.
pub(crate) fn write_private(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    create_private(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut new, value)?;
    new.flush()?;
    new.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Creates a folder that only its owner can read, if it is not there.
pub(crate) fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// The SHA-256 of a configuration file and the files that it names, in hexadecimal digits. A file that cannot be read counts
/// as empty.
///
/// # Errors
///
/// If the files together are too large.
pub(crate) fn digest(text: &str, named: &[PathBuf]) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        // With the length, so that no two lists of files have the same input.
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(text.as_bytes());
    let mut left = NAMED_LIMIT;
    for path in named {
        let bytes = match files::read(path, left) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                let limit = NAMED_LIMIT >> 20;
                let words = format!("the files that it names are larger than {limit} MiB");
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
            }
            Err(_) => Vec::new(),
        };
        left = left.saturating_sub(bytes.len() as u64);
        add(path.as_os_str().as_encoded_bytes());
        add(&bytes);
    }
    let mut digits = String::new();
    for byte in hasher.finalize() {
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(digits)
}
