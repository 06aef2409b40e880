//! Files that this program itself reads, or runs outside the sandbox: no call may change them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use gadgetry::CommandGadget;
use gadgetry_builtins::{Workspace, files_in_line};
use gadgetry_files as files;

use crate::cli::GadgetOptions;
use crate::config::Declared;
use crate::data_dir;
use crate::error::Error;

/// The files of this program, as far as gadgets could reach them.
#[derive(Debug, Default)]
pub(crate) struct OwnFiles {
    files: Vec<PathBuf>,
    /// Data and configuration of the user: sessions and decisions decide what runs as well.
    folders: Vec<PathBuf>,
    /// Folders in which programs are started, where relative folders of `PATH` begin.
    starts: Vec<PathBuf>,
    /// Why not all of the files are known. It matters only where there are gadgets that could change them.
    unknown: Option<String>,
}

impl OwnFiles {
    /// Configuration files, those files that commands of hooks, commands after changes and MCP servers name, and the user's folders.
    /// Hooks run in `folder`, MCP servers in the working directory or below it, and `data` is the data folder if it is not the usual one.
    pub(crate) fn of(
        declared: &Declared,
        options: &GadgetOptions,
        data: Option<&Path>,
        folder: &Path,
    ) -> Self {
        let mut files = declared.files.clone();
        let workspace = folder.join(options.workspace.as_deref().unwrap_or(Path::new("")));
        let here = env::current_dir().unwrap_or_default();
        let mut starts = vec![folder.to_owned(), workspace.clone()];
        let mut unknown = None;
        let mut add = |line: &str, folders: &[&Path]| match files_in_line(line, folders) {
            Ok(named) => files.extend(named),
            Err(error) => unknown = Some(error.to_string()),
        };
        for hook in &declared.hooks {
            add(&hook.command, &[folder, &workspace]);
        }
        for command in &declared.after_edit {
            add(&command.line, &[&workspace]);
        }
        for server in declared.servers.values() {
            let (words, cwd) = server.program();
            let cwd = cwd.unwrap_or_default();
            let (ours, of_session) = (here.join(cwd), folder.join(cwd));
            add(&words.join(" "), &[&ours, &of_session, &workspace]);
            starts.extend([ours, of_session]);
        }
        #[cfg(feature = "mcp")]
        for server in &options.mcp {
            if let gadgetry_mcp::config::Transport::Stdio(program) = &server.config.transport {
                let line = format!("{} {}", program.command, program.args.join(" "));
                let cwd = here.join(program.cwd.as_deref().unwrap_or(Path::new("")));
                add(&line, &[&cwd, folder, &workspace]);
                starts.push(cwd);
            }
        }
        let folders = [
            data.map(Path::to_owned),
            declared.data.clone(),
            data_dir::usual(),
            data_dir::config(),
        ];
        let folders = folders.into_iter().flatten();
        let folders = folders.map(|it| resolved(&here.join(it)));
        Self {
            files,
            folders: folders.collect(),
            starts,
            unknown,
        }
    }

    /// Protects them in a workspace.
    ///
    /// # Errors
    ///
    /// If not all of them are known, or if commands run in the sandbox, which could not protect them.
    pub(crate) fn protect(&self, workspace: &Workspace, sandbox: bool) -> Result<(), Error> {
        let root = workspace.root();
        if let Some(why) = &self.unknown {
            return Err(Error::input(why));
        }
        if sandbox && let Some(entry) = self.searched(root) {
            return Err(Error::input(format_args!(
                "--sandbox: PATH has the workspace itself ({}), where commands could put programs that others start; remove it from PATH",
                entry.display()
            )));
        }
        workspace.protect(self.files.iter().cloned());
        if sandbox {
            workspace.protect_searched(self.starts.iter().cloned());
        }
        for folder in &self.folders {
            if !root.starts_with(folder) {
                if sandbox && folder.starts_with(root) {
                    make(folder)?;
                }
                workspace.protect([folder]);
                // Where the folder is elsewhere, a link in it may lead here.
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                workspace.protect(entries.map(|it| it.path()).filter(|it| it.is_symlink()));
            } else if sandbox {
                return Err(Error::input(format_args!(
                    "--sandbox: the workspace is in {}, the folder of gadgetry's own files, which commands must not change; choose another workspace",
                    folder.display()
                )));
            } else {
                // The folder itself could not be protected without all of the workspace.
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                workspace.protect(entries.map(|it| it.path()).filter(|it| it.is_file()));
            }
        }
        Ok(())
    }

    /// Returns the entry of `PATH` that is a workspace. What runs after a change is started in the workspace.
    fn searched(&self, root: &Path) -> Option<PathBuf> {
        let all = env::var_os("PATH").unwrap_or_default();
        let here = env::current_dir().unwrap_or_default();
        let starts = self.starts.iter().map(PathBuf::as_path);
        let starts: Vec<&Path> = starts.chain([root, &here]).collect();
        let is_root = |it: PathBuf| it.canonicalize().is_ok_and(|it| it == root);
        let mut entries = env::split_paths(&all);
        entries.find(|entry| starts.iter().any(|start| is_root(start.join(entry))))
    }
}

/// Returns the path of a folder without links, as far as it exists.
fn resolved(folder: &Path) -> PathBuf {
    let found = folder.ancestors().find_map(|above| {
        let rest = folder.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    found.unwrap_or_else(|| folder.to_owned())
}

/// Makes a folder, unless a command could not make it either: what is not there cannot be protected from being made.
fn make(folder: &Path) -> Result<(), Error> {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    match files::create_private_folder(folder) {
        Err(error) if !matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem) => {
            Err(Error::at(folder.display(), error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the programs of gadgets, and those of their arguments that are files. They run in `folder`.
///
/// # Errors
///
/// If not all of them can be found.
pub(crate) fn of_gadgets(
    gadgets: &[CommandGadget],
    folder: &Path,
    workspace: &Workspace,
) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for gadget in gadgets {
        let program = folder.join(gadget.program());
        let line = format!(
            "{} {}",
            gadget.program().display(),
            gadget.arguments().join(" ")
        );
        let named = files_in_line(&line, &[folder, workspace.root()]);
        files.extend(named.map_err(Error::input)?);
        files.extend(program.is_file().then_some(program));
    }
    Ok(files)
}
