//! Errors of skills, of folders of skills, and of paths to a skill's files.

use std::io;
use std::path::PathBuf;

use gadgetry_proto::error::{Classified, Fault};

/// Error for skills that cannot be used. The mistake is in the folder or in its `SKILL.md`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// A folder or a `SKILL.md` cannot be read.
    #[error("cannot read {path}: {error}", path = path.display())]
    Read {
        /// The folder or the file.
        path: PathBuf,
        /// Error of the file system.
        error: io::Error,
    },
    /// `SKILL.md` is a folder or a device, or a link that leads out of the skill's folder.
    #[error(
        "{path} must be a file in the skill's own folder; link to the folder as a whole, or copy the file",
        path = path.display()
    )]
    NotAFile {
        /// The `SKILL.md`.
        path: PathBuf,
    },
    /// A `SKILL.md` is longer than [`SKILL_FILE_LIMIT`](super::SKILL_FILE_LIMIT).
    #[error(
        "{path} is longer than {limit} bytes; move what is not always needed to other files of the skill",
        path = path.display()
    )]
    TooLarge {
        /// The `SKILL.md`.
        path: PathBuf,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// A `SKILL.md` has a mistake.
    #[error("{path}:{line}:{column}: {problem}", path = path.display())]
    Invalid {
        /// The `SKILL.md`.
        path: PathBuf,
        /// One-based line.
        line: usize,
        /// One-based column, in characters.
        column: usize,
        /// Mistake in the file.
        problem: SkillProblem,
    },
    /// Two skills have one name.
    #[error(
        "the skills in {first} and {second} are both named {name:?}; rename one of them",
        first = first.display(), second = second.display()
    )]
    DuplicateName {
        /// The name of both.
        name: String,
        /// The folder of the one that came first.
        first: PathBuf,
        /// The folder of the other.
        second: PathBuf,
    },
}

impl Classified for SkillError {
    fn fault(&self) -> Fault {
        if matches!(self, Self::Read { .. }) {
            Fault::Environment
        } else {
            Fault::Program
        }
    }
}

/// Mistake at a position of a `SKILL.md`, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SkillProblem {
    /// The file is not text.
    #[error("the file is not UTF-8; save it as UTF-8")]
    NotUtf8,
    /// The first line is something else.
    #[error(
        "the front matter is missing; begin the file with a line ---, a line description: …, and a line ---"
    )]
    NoFrontMatter,
    /// The second `---` is missing.
    #[error("the front matter has no end; add a line --- after it")]
    UnclosedFrontMatter,
    /// Invalid YAML.
    #[error("{0}; a value with \": \" or \" #\" in it, or that begins with a sign, needs quotes")]
    Yaml(String),
    /// A YAML feature that front matter does not support.
    #[error("{0} is not supported in front matter; write plain keys and values")]
    Unsupported(&'static str),
    /// The YAML is a list or a text.
    #[error("front matter consists of lines such as description: …")]
    NotAMapping,
    /// A duplicate key in a mapping.
    #[error("duplicate key {key:?}; remove one of them")]
    DuplicateKey {
        /// Key, as written in the file.
        key: String,
    },
    /// A value has the wrong type.
    #[error("{key} must be {expected}")]
    WrongType {
        /// Key of the value.
        key: &'static str,
        /// Expected value.
        expected: &'static str,
    },
    /// The description is missing, so the model could not know when to use the skill.
    #[error("this skill has no description; add a line description: … that says when to use it")]
    MissingDescription,
    /// The description is longer than 1,024 characters.
    #[error(
        "the description has {characters} characters; 1024 are allowed, and the text below has room for more"
    )]
    DescriptionTooLong {
        /// Number of characters.
        characters: usize,
    },
    /// The name does not follow the rule.
    #[error(
        "{name:?} cannot be the name of a skill; a name has 1 to 64 lower-case letters a-z, digits and hyphens, and begins with a letter or digit"
    )]
    InvalidName {
        /// Name, as written in the file.
        name: String,
    },
    /// The name is missing, and that of the folder is not a valid replacement.
    #[error(
        "the folder's name {folder:?} cannot be the name of a skill; rename it, or add a line name: … (1 to 64 lower-case letters a-z, digits and hyphens)"
    )]
    InvalidFolderName {
        /// The name of the folder.
        folder: String,
    },
}

impl Classified for SkillProblem {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

/// The arguments of a skill are longer than [`ARGUMENTS_LIMIT`](super::ARGUMENTS_LIMIT).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the arguments have {bytes} bytes; {} are allowed",
    super::limits::ARGUMENTS_LIMIT
)]
pub struct ArgumentsTooLong {
    /// Length in bytes.
    pub bytes: usize,
}

impl Classified for ArgumentsTooLong {
    fn fault(&self) -> Fault {
        Fault::Model
    }
}

/// Error for a file of a skill that cannot be given to a model. The messages name no path outside the skill.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// The path is not inside the skill, or a link leads out of it.
    #[error(
        "{path:?} is not inside the skill; give a path from the skill's folder, without .. and without hidden files"
    )]
    Outside {
        /// Path, as the caller gave it.
        path: String,
    },
    /// No file has that name.
    #[error("the skill has no file {path:?}{}", did_you_mean(.closest))]
    NotFound {
        /// Path, as the caller gave it.
        path: String,
        /// The paths that were probably meant, the closest first.
        closest: Vec<String>,
    },
    /// A folder or a device.
    #[error("{path:?} is a folder; name one of the files in it")]
    NotAFile {
        /// Path, as the caller gave it.
        path: String,
    },
    /// A file longer than [`RESOURCE_LIMIT`](super::RESOURCE_LIMIT).
    #[error("{path:?} has {size} bytes, and only files up to {limit} bytes can be read whole")]
    TooLarge {
        /// Path, as the caller gave it.
        path: String,
        /// Size in bytes.
        size: u64,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// A file that is not UTF-8 text.
    #[error("{path:?} is a binary file of {size} bytes; only text can be read")]
    Binary {
        /// Path, as the caller gave it.
        path: String,
        /// Size in bytes.
        size: u64,
    },
    /// The system refused.
    #[error("cannot read {path:?}: {error}")]
    Read {
        /// Path, as the caller gave it.
        path: String,
        /// Error of the file system.
        error: io::Error,
    },
}

impl Classified for ResourceError {
    fn fault(&self) -> Fault {
        if matches!(self, Self::Read { .. }) {
            Fault::Environment
        } else {
            Fault::Model
        }
    }
}

/// Returns the suggestion; empty if no name is close.
pub(super) fn did_you_mean(closest: &[impl AsRef<str>]) -> String {
    match closest.first() {
        Some(name) => format!(". Did you mean {:?}?", name.as_ref()),
        None => String::new(),
    }
}
