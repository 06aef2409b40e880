//! Effects of a call before it runs, for rules about it, and for the user who approves it.

use gadgetry_proto::error::{Classified, Fault};

use crate::error::GadgetError;

/// Decision about a call before it runs.
///
/// ```
/// use gadgetry::Permission;
/// assert_eq!("ask".parse(), Ok(Permission::Ask));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Permission {
    /// The call runs.
    #[default]
    Allow,
    /// The user decides. Without a user it is denied.
    Ask,
    /// The call is denied: it fails, and so do its dependents.
    Deny,
}

impl Permission {
    /// Returns its name: `allow`, `ask` or `deny`.
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

/// Error for a word that does not name a [`Permission`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `allow`, `ask` or `deny`")]
pub struct UnknownPermission;

impl Classified for UnknownPermission {
    fn fault(&self) -> Fault {
        Fault::Program
    }
}

/// Target of a call. Rules with a pattern for the argument compare it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
    /// A file, with `/` between names, as the gadget has resolved it: without `..` and symbolic links.
    Path(String),
    /// A folder with everything in it, written in the same way; `.` is the workspace. A rule that allows it has to allow
    /// everything in it.
    Folder(String),
    /// A command line for a shell, and the folder that it runs in.
    Command(CommandLine),
    /// A normalised URL.
    Url(String),
}

impl Subject {
    /// A command line that runs in the workspace's root.
    ///
    /// ```
    /// use gadgetry::Subject;
    /// assert_eq!(Subject::command("make").text(), "make");
    /// ```
    pub fn command(line: impl Into<String>) -> Self {
        Self::Command(CommandLine {
            line: line.into(),
            ..CommandLine::default()
        })
    }

    /// Returns its text; for a command, without the folder.
    pub fn text(&self) -> &str {
        match self {
            Self::Path(text) | Self::Folder(text) | Self::Url(text) => text,
            Self::Command(command) => &command.line,
        }
    }
}

/// A command line, and the folder that it runs in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The text for the shell.
    pub line: String,
    /// The folder that it runs in, resolved, with `/` between names; `None` is the workspace's root.
    pub folder: Option<String>,
    /// The absolute path of the workspace, with `/` between names; `None` if it has none that a rule could name.
    pub workspace: Option<String>,
    /// Whether it runs in a sandbox.
    pub is_sandboxed: bool,
    /// Whether it can change nothing there. No rule is suggested then, because one would let it run with other rights, too.
    pub is_read_only: bool,
}

impl CommandLine {
    /// Returns the absolute path of the folder that it runs in, if the workspace has one.
    ///
    /// ```
    /// use gadgetry::CommandLine;
    /// let mut command = CommandLine { folder: Some("src".to_owned()), ..CommandLine::default() };
    /// assert_eq!(command.absolute_folder(), None);
    /// command.workspace = Some("/home/me/shop".to_owned());
    /// assert_eq!(command.absolute_folder().as_deref(), Some("/home/me/shop/src"));
    /// ```
    pub fn absolute_folder(&self) -> Option<String> {
        let workspace = self.workspace.as_ref()?;
        Some(match &self.folder {
            Some(folder) => format!("{}/{folder}", workspace.trim_end_matches('/')),
            None => workspace.clone(),
        })
    }
}

/// The source of a gadget that others define, such as a server of tools. Rules that allow its calls name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The name of the server, as the user has written it.
    pub server: String,
    /// A hash of everything that the server says about the tool. Rules compare it as text.
    pub definition: String,
}

/// Effects that a call would have.
///
/// What was shown is what runs: a gadget makes the preview again when it executes the call, and passes it to
/// [`ExecutionContext::check_approved`](crate::ExecutionContext::check_approved) before it changes anything.
///
/// ```
/// use gadgetry::{CallPreview, Subject};
/// let preview = CallPreview::of(Subject::command("cargo test")).note("for up to 60 s");
/// assert_eq!(preview.notes, ["for up to 60 s"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallPreview {
    /// Target of the call.
    pub subject: Option<Subject>,
    /// Change of a file, as a unified diff.
    pub diff: Option<String>,
    /// Further facts for the user, a line each. These are the gadget's words: a user interface shows them apart from the model's
    /// text.
    pub notes: Vec<String>,
    /// Whether the subject and the notes describe the whole call, so that its parameters need not be shown.
    pub is_whole: bool,
    /// The source of the gadget, if others define it.
    pub origin: Option<Origin>,
    /// Further facts that an approval is bound to and that are not shown, such as the hash of a file's content.
    pub bound: Vec<String>,
}

impl CallPreview {
    /// Makes the preview of a call that acts on `subject`.
    pub fn of(subject: Subject) -> Self {
        Self {
            subject: Some(subject),
            ..Self::default()
        }
    }

    /// Adds the change of a file, as a unified diff.
    #[must_use]
    pub fn diff(mut self, diff: impl Into<String>) -> Self {
        self.diff = Some(diff.into());
        self
    }

    /// Returns the parameters as JSON if a question has to show them, because a path or a URL alone does not describe the call:
    /// `Search` in a folder, for example.
    ///
    /// ```
    /// use gadgetry::serde_json::json;
    /// use gadgetry::{CallPreview, Subject};
    /// let preview = CallPreview::of(Subject::Path("src".to_owned()));
    /// let shown = preview.further_parameters(&json!({ "path": "src", "pattern": "key" }));
    /// assert_eq!(shown.as_deref(), Some(r#"{"path":"src","pattern":"key"}"#));
    /// assert_eq!(preview.further_parameters(&json!({ "path": "src" })), None);
    /// let whole = preview.note("with 3 files in it").whole();
    /// assert_eq!(whole.further_parameters(&json!({ "path": "src", "recursive": true })), None);
    /// ```
    pub fn further_parameters(&self, parameters: &serde_json::Value) -> Option<String> {
        let says_little = match &self.subject {
            Some(Subject::Path(_) | Subject::Folder(_) | Subject::Url(_)) => self.diff.is_none(),
            Some(Subject::Command(_)) | None => false,
        };
        let several = (parameters.as_object()).is_some_and(|parameters| parameters.len() > 1);
        (says_little && several && !self.is_whole).then(|| parameters.to_string())
    }

    /// Adds a line that the user should read.
    #[must_use]
    pub fn note(mut self, line: impl Into<String>) -> Self {
        self.notes.push(line.into());
        self
    }

    /// Declares that the subject and the notes describe the whole call: questions do not show its parameters.
    #[must_use]
    pub fn whole(mut self) -> Self {
        self.is_whole = true;
        self
    }

    /// Sets the source of the gadget.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// Binds an approval to something that is not shown, such as the hash of a file before and after its change: if it is different
    /// when the call executes, the call is shown again. The diff is then not compared.
    ///
    /// ```
    /// use gadgetry::CallPreview;
    /// let preview = CallPreview::default().bound_to("sha256 of the file");
    /// assert_ne!(preview, CallPreview::default());
    /// ```
    #[must_use]
    pub fn bound_to(mut self, what: impl Into<String>) -> Self {
        self.bound.push(what.into());
        self
    }
}

/// Makes the preview of a call that acts on this subject.
impl From<Subject> for CallPreview {
    fn from(subject: Subject) -> Self {
        Self::of(subject)
    }
}

/// A line that the user should read.
impl From<String> for CallPreview {
    fn from(line: String) -> Self {
        Self::default().note(line)
    }
}

/// A line that the user should read.
impl From<&str> for CallPreview {
    fn from(line: &str) -> Self {
        Self::from(line.to_owned())
    }
}

/// Result of the function that `#[gadget(preview = …)]` names: anything that converts to a [`CallPreview`], such as a [`Subject`]
/// or a text for the user, or a `Result` of that.
///
/// ```
/// use gadgetry::gadget::IntoPreview;
/// use gadgetry::{CallPreview, Subject};
///
/// fn deletion(path: &str) -> Result<Subject, String> {
///     Ok(Subject::Path(path.to_owned()))
/// }
///
/// let preview = deletion("notes.txt").into_preview().expect("a preview");
/// assert_eq!(preview, CallPreview::of(Subject::Path("notes.txt".to_owned())));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a preview of a call",
    label = "no preview can be made of this",
    note = "the function of `preview = …` takes the gadget's arguments by reference, is not `async`, and returns a `CallPreview`, a `Subject`, \
            a text, or a `Result` of these"
)]
pub trait IntoPreview {
    /// Converts the result of the function.
    ///
    /// # Errors
    ///
    /// The call cannot be executed, for a reason that the model reads.
    fn into_preview(self) -> Result<CallPreview, GadgetError>;
}

#[diagnostic::do_not_recommend]
impl<P: Into<CallPreview>> IntoPreview for P {
    fn into_preview(self) -> Result<CallPreview, GadgetError> {
        Ok(self.into())
    }
}

impl<P: Into<CallPreview>, E: Into<GadgetError>> IntoPreview for Result<P, E> {
    fn into_preview(self) -> Result<CallPreview, GadgetError> {
        self.map(Into::into).map_err(Into::into)
    }
}
