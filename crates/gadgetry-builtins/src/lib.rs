//! Built-in gadgets: files, search, commands and pages.
//!
//! ```
//! use gadgetry::approval::{Approvals, Rules};
//! use gadgetry::{Agent, ScriptedModel};
//! use gadgetry_builtins::Builtins;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("a.txt"), "hello")?;
//! let model: ScriptedModel = concat!(
//!     r#"{"text": "!!!GADGET_START:ReadFile\n!!!ARG:filePath\na.txt\n!!!GADGET_END"}"#, "\n",
//!     r#"{"text": "It says hello.", "expect": {"contains": ["path=a.txt\n\nhello"]}}"#,
//! ).parse()?;
//! let builtins = Builtins::in_dir(folder.path())?;
//! let approvals = Approvals::new(Rules::default());
//! let agent = Agent::builder().model(model).gadgets(builtins.gadgets()).approvals(approvals);
//! assert_eq!(agent.ask("What does a.txt say?")?.text().await?, "It says hello.");
//! # Ok(())
//! # }
//! ```
//!
//! | gadget | what it does | without a rule |
//! |---|---|---|
//! | `ReadFile` | reads a text file, or a range of its lines; shows images to models that see | runs |
//! | `ListDirectory` | lists files and folders | runs |
//! | `Search` | searches files for a regular expression | runs |
//! | `WriteFile`, `EditFile`, `DeleteFile` | change files, at once or not at all | needs approval |
//! | `RunCommand` | runs a command line, on Linux optionally in a sandbox | needs approval |
//! | `HttpFetch` | fetches a page from a public address (feature `fetch`) | needs approval |
//! | `AskUser`, `TellUser`, `Finish`, `TodoWrite` | talk to the user, end the run, keep a list of steps | runs |
//!
//! "Needs approval" is what [`Approvals`](gadgetry::approval::Approvals) obey. An agent with such gadgets and without
//! approvals is not built, unless [`AgentBuilder::without_approvals`](gadgetry::AgentBuilder::without_approvals) says that whatever the model writes may run.
//!
//! Files are those of the [`Workspace`] and no others, whatever the path, link or race. `RunCommand` starts programs with the rights of the user,
//! who may leave the workspace, unless [`Builtins::sandbox`] is on.
//!
//! # Modules
//!
//! A module names only modules above it.
//!
//! | module | what it does |
//! |---|---|
//! | `encoding`, `diff`, `glob` | encodings of files; differences of texts; patterns of file names |
//! | `workspace` | [`Workspace`]: the folder that gadgets cannot leave |
//! | `blocking` | work with files, which blocks, cancellable |
//! | `command_output`, `read_only` | what commands write, while they run; the switch with which they can change nothing |
//! | `sandbox` | a command that can change its workspace and nothing else |
//! | `read_file`, `list_directory`, `search` | reading |
//! | `shell`, `terminal`, `after_edit` | command lines; those in terminals of an editor; those that run after a change |
//! | `write_file`, `edit_file`, `delete_file` | changing |
//! | `run_command`, `http_fetch` | commands and pages |
//! | `talk`, `todo` | the user, and the list of steps |

mod after_edit;
mod blocking;
mod command_output;
mod delete_file;
mod diff;
mod edit_file;
mod encoding;
mod glob;
#[cfg(feature = "fetch")]
mod http_fetch;
mod list_directory;
mod read_file;
mod read_only;
mod run_command;
#[cfg(target_os = "linux")]
mod sandbox;
mod search;
mod shell;
mod talk;
mod terminal;
mod todo;
mod workspace;
mod write_file;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use gadgetry::{DynGadget, IntoGadget as _};
use tokio::sync::Mutex;

use crate::after_edit::AfterEdits;
use crate::shell::Shell;

pub use after_edit::{AFTER_EDIT, AfterEdit};
pub use command_output::CommandOutput;
pub use read_only::ReadOnly;
pub use todo::{TodoStatus, TodoStep};
pub use workspace::{
    Checkpoint, Editor, EditorAnswer, FileError, Terminal, Undone, Workspace, WorkspaceError,
    WorkspacePath, files_in_line, program_outside,
};

/// Runs as a process of the sandbox, in a terminal of an [`Editor`], or as a [supervisor](gadgetry::command::supervisor), and does not
/// return if this process was started as one. Call it first in `main`: the sandbox and terminals start the program that they are in,
/// which is the only one that they know.
///
/// ```no_run
/// gadgetry_builtins::dispatch();
/// // The rest of `main`.
/// ```
pub fn dispatch() {
    #[cfg(target_os = "linux")]
    sandbox::dispatch();
    terminal::dispatch();
    gadgetry::command::supervisor::dispatch();
}

/// Returns whether commands can run in the [sandbox](Builtins::sandbox) here. The first call starts a process to find it out, and blocks
/// for some milliseconds.
///
/// ```no_run
/// gadgetry_builtins::dispatch();
/// println!("a sandbox: {}", gadgetry_builtins::has_sandbox());
/// ```
pub fn has_sandbox() -> bool {
    #[cfg(target_os = "linux")]
    return sandbox::Sandbox::of_system(false).is_ok();
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// The names of all built-in gadgets, also of those that this build does not have. A gadget of another source should have none of
/// them: rules that a user has written for built-in gadgets would be about it.
pub const NAMES: [&str; 12] = [
    "ReadFile",
    "ListDirectory",
    "Search",
    "WriteFile",
    "EditFile",
    "DeleteFile",
    "RunCommand",
    "HttpFetch",
    "AskUser",
    "TellUser",
    "Finish",
    "TodoWrite",
];

/// The built-in gadgets for one workspace.
///
/// ```
/// use gadgetry_builtins::Builtins;
/// let builtins = Builtins::in_dir(".")?.sandbox(true).without_env(["MY_KEY"]);
/// let names: Vec<String> = builtins.gadgets().iter().map(|it| it.spec().name.clone()).collect();
/// assert!(names.contains(&"EditFile".to_owned()));
/// # Ok::<(), gadgetry_builtins::WorkspaceError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builtins {
    workspace: Arc<Workspace>,
    images: bool,
    sandbox: bool,
    by_landlock: bool,
    read_only: ReadOnly,
    allowed_addresses: Vec<IpAddr>,
    env: Vec<String>,
    without_env: Vec<String>,
    after_edit: Vec<AfterEdit>,
}

impl Builtins {
    /// The gadgets for the folder `path`.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError`] if it is not a folder that can be opened.
    pub fn in_dir(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        Ok(Self::of(Arc::new(Workspace::open(path)?)))
    }

    /// The gadgets for a workspace that is open. Gadgets of the same workspace share its changes, for [`Workspace::undo`].
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gadgetry_builtins::{Builtins, Workspace};
    /// let workspace = Arc::new(Workspace::open(".")?);
    /// let builtins = Builtins::of(Arc::clone(&workspace));
    /// assert_eq!(builtins.workspace().root(), workspace.root());
    /// # Ok::<(), gadgetry_builtins::WorkspaceError>(())
    /// ```
    pub fn of(workspace: Arc<Workspace>) -> Self {
        Self {
            workspace,
            images: false,
            sandbox: false,
            by_landlock: false,
            read_only: ReadOnly::default(),
            allowed_addresses: Vec::new(),
            env: Vec::new(),
            without_env: Vec::new(),
            after_edit: Vec::new(),
        }
    }

    /// Sets whether `ReadFile` returns images: only if the model sees them. Off by default.
    #[must_use]
    pub fn images(mut self, on: bool) -> Self {
        self.images = on;
        self
    }

    /// Sets whether commands run in a sandbox: they change nothing but the workspace and temporary files of their own, reach no other
    /// process and no network, loopback included, and leave no process. Reading is not restricted.
    /// What Git runs code from, such as settings and hooks, is read-only, and so are folders of `PATH`; a repository that a command makes
    /// is renamed.
    ///
    /// Off by default. Needs Linux, with user namespaces or with Landlock (6.2 or later), and a program that calls [`dispatch`]
    /// first in its `main`. Without one of them, commands fail instead of running without a sandbox.
    #[must_use]
    pub fn sandbox(mut self, on: bool) -> Self {
        self.sandbox = on;
        self
    }

    /// Has commands run in the sandbox, and change nothing, while `switch` is on. Off by default.
    #[must_use]
    pub fn read_only(mut self, switch: ReadOnly) -> Self {
        self.read_only = switch;
        self
    }

    /// Has the sandbox of a kernel that refuses namespaces.
    #[doc(hidden)]
    #[must_use]
    pub fn sandbox_by_landlock(mut self) -> Self {
        (self.sandbox, self.by_landlock) = (true, true);
        self
    }

    /// Lets `HttpFetch` use these addresses although they are of a private network or of this machine. None by default.
    #[must_use]
    pub fn allow_addresses(mut self, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        self.allowed_addresses.extend(addresses);
        self
    }

    /// Sets whether files with several hard links are read and edited: such a file may belong to a folder outside the
    /// workspace. Off by default.
    ///
    /// # Errors
    ///
    /// [`WorkspaceError`] if the folder cannot be opened again.
    pub fn hard_links(mut self, on: bool) -> Result<Self, WorkspaceError> {
        let mut workspace = Workspace::open(self.workspace.root())?;
        workspace.set_hard_links(on);
        workspace.protect(self.workspace.protected());
        self.workspace = Arc::new(workspace);
        Ok(self)
    }

    /// Leaves these variables in the environment of commands although their names are those of secrets.
    #[must_use]
    pub fn env(mut self, variables: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.env.extend(variables.into_iter().map(Into::into));
        self
    }

    /// Removes these variables from the environment of commands, in addition to those that by their names hold secrets.
    #[must_use]
    pub fn without_env(mut self, variables: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let variables = variables.into_iter().map(Into::into);
        self.without_env.extend(variables);
        self
    }

    /// Adds commands that run after `WriteFile` and `EditFile` have changed a file.
    #[must_use]
    pub fn after_edit(mut self, commands: impl IntoIterator<Item = AfterEdit>) -> Self {
        self.after_edit.extend(commands);
        self
    }

    /// Returns the workspace, for [`Workspace::undo`].
    pub fn workspace(&self) -> &Arc<Workspace> {
        &self.workspace
    }

    /// Returns the gadgets.
    pub fn gadgets(&self) -> Vec<Arc<dyn DynGadget>> {
        if self.sandbox {
            self.workspace.protect_searched([] as [&Path; 0]);
        }
        let workspace = || Arc::clone(&self.workspace);
        let shell = Shell {
            workspace: workspace(),
            sandbox: self.sandbox,
            by_landlock: self.by_landlock,
            read_only: self.read_only.clone(),
            without_env: self.without_env.clone(),
            env: self.env.clone(),
        };
        let after = Arc::new(AfterEdits {
            shell: shell.clone(),
            all: self.after_edit.clone(),
            turn: Mutex::default(),
        });
        #[cfg_attr(
            not(feature = "fetch"),
            expect(unused_mut, reason = "nothing is added")
        )]
        let mut gadgets = vec![
            read_file::ReadFile {
                workspace: workspace(),
                images: self.images,
            }
            .into_gadget(),
            list_directory::ListDirectory(workspace()).into_gadget(),
            search::Search(workspace()).into_gadget(),
            write_file::WriteFile {
                workspace: workspace(),
                after: Arc::clone(&after),
            }
            .into_gadget(),
            edit_file::EditFile {
                workspace: workspace(),
                after,
            }
            .into_gadget(),
            delete_file::DeleteFile(workspace()).into_gadget(),
            run_command::RunCommand(shell).into_gadget(),
            talk::AskUser.into_gadget(),
            talk::TellUser.into_gadget(),
            talk::Finish.into_gadget(),
            todo::TodoWrite.into_gadget(),
        ];
        // Without a TLS library that can be set up there is nothing to fetch with; ours always can.
        #[cfg(feature = "fetch")]
        if let Ok(fetch) = http_fetch::HttpFetch::new(self.allowed_addresses.clone()) {
            gadgets.push(fetch.into_gadget());
        }
        gadgets
    }
}
