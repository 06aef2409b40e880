//! Trust in the project's file: nothing in a cloned repository acts without the user's consent.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use gadgetry_files as files;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::decisions::{Decided, Decisions};
use crate::error::Error;

/// Bytes of the files that a configuration file names, together.
const NAMED_LIMIT: u64 = 64 << 20;

/// Decision of the user about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The file is used.
    Trusted,
    /// The file is not used, and the user is not prompted.
    Declined,
    /// The user has decided about another content.
    Changed,
    /// The user has not decided.
    Unknown,
}

/// The decisions of the user about files of projects.
#[derive(Debug)]
pub(crate) struct Trust(Decisions<Project>);

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Project {
    file: String,
    sha256: String,
    trusted: bool,
}

impl Decided for Project {
    const FILE: &str = "trusted.json";
    const LIST: &str = "projects";
}

impl Trust {
    /// Reads the decisions. `folder` is the user's configuration folder.
    pub(crate) fn load(folder: Option<&Path>) -> Result<Self, Error> {
        Decisions::load(folder).map(Self)
    }

    /// Returns the decision about a file with this content.
    pub(crate) fn decision(&self, file: &Path, sha256: &str) -> Decision {
        match self.project(file) {
            None => Decision::Unknown,
            Some(project) if project.sha256 != sha256 => Decision::Changed,
            Some(project) if project.trusted => Decision::Trusted,
            Some(_) => Decision::Declined,
        }
    }

    /// Returns whether anything is decided about a file.
    pub(crate) fn knows(&self, file: &Path) -> bool {
        self.project(file).is_some()
    }

    fn project(&self, file: &Path) -> Option<&Project> {
        let file = file.to_str()?;
        self.0.iter().find(|project| project.file == file)
    }

    /// Remembers a decision; `None` forgets it.
    pub(crate) fn decide(&mut self, file: &Path, decision: Option<(&str, bool)>) -> io::Result<()> {
        let not_unicode = || io::Error::other("the name of the folder is not UTF-8");
        let file = file.to_str().ok_or_else(not_unicode)?;
        let new = decision.map(|(sha256, trusted)| Project {
            file: file.to_owned(),
            sha256: sha256.to_owned(),
            trusted,
        });
        self.0.replace(|project| project.file == file, new)
    }
}

/// The SHA-256 of a configuration file and the files that it names, in hexadecimal digits. A file that cannot be read counts
/// as empty. Relative paths begin in `folder`.
///
/// # Errors
///
/// If the files together are too large.
pub(crate) fn digest(text: &str, named: &[PathBuf], folder: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        // With the length, so that no two lists of files have the same input.
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    add(text.as_bytes());
    let mut left = NAMED_LIMIT;
    for path in named {
        let bytes = match files::read(&folder.join(path), left) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                let limit = NAMED_LIMIT >> 20;
                let words = format!("the files that it names are larger than {limit} MiB");
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
            }
            Err(_) => Vec::new(),
        };
        left = left.saturating_sub(bytes.len() as u64);
        // The same from whatever folder it is read.
        let path = path.strip_prefix(folder).unwrap_or(path);
        add(path.as_os_str().as_encoded_bytes());
        add(&bytes);
    }
    let mut digits = String::new();
    for byte in hasher.finalize() {
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(digits)
}
