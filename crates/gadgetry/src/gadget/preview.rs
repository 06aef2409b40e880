//! What a call would touch: for rules about it, and for the user who approves it.

/// Whether a call may run.
///
/// ```
/// use gadgetry::Permission;
/// assert_eq!("ask".parse(), Ok(Permission::Ask));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Permission {
    /// It runs.
    #[default]
    Allow,
    /// The user decides. Without a user it is denied.
    Ask,
    /// It is denied: the call fails, and so do its dependents.
    Deny,
}

impl Permission {
    /// Returns the word for it: `allow`, `ask` or `deny`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl std::fmt::Display for Permission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Permission {
    type Err = UnknownPermission;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        [Self::Allow, Self::Ask, Self::Deny]
            .into_iter()
            .find(|permission| permission.as_str() == word)
            .ok_or(UnknownPermission)
    }
}

/// A word that names no [`Permission`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `allow`, `ask` or `deny`")]
pub struct UnknownPermission;

/// What a call acts on. Rules with a pattern for the argument compare it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// A file or folder, with `/` between names, as the gadget has resolved it: without `..` and symbolic links.
    Path(String),
    /// A command line for a shell.
    Command(String),
    /// A normalised URL.
    Url(String),
}

impl Subject {
    /// Returns its text.
    pub fn text(&self) -> &str {
        match self {
            Self::Path(text) | Self::Command(text) | Self::Url(text) => text,
        }
    }
}

/// What a call would do.
///
/// ```
/// use gadgetry::{CallPreview, Subject};
/// let preview = CallPreview::of(Subject::Command("cargo test".to_owned())).note("in the folder src");
/// assert_eq!(preview.notes, ["in the folder src"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallPreview {
    /// What it acts on.
    pub subject: Option<Subject>,
    /// What it would change, as a unified diff.
    pub diff: Option<String>,
    /// What else the user should know, a line each.
    pub notes: Vec<String>,
}

impl CallPreview {
    /// A call that acts on `subject`.
    pub fn of(subject: Subject) -> Self {
        Self {
            subject: Some(subject),
            ..Self::default()
        }
    }

    /// Adds what it would change, as a unified diff.
    #[must_use]
    pub fn diff(mut self, diff: impl Into<String>) -> Self {
        self.diff = Some(diff.into());
        self
    }

    /// Adds a line that the user should read.
    #[must_use]
    pub fn note(mut self, line: impl Into<String>) -> Self {
        self.notes.push(line.into());
        self
    }
}
