//! `--worktree`: a Git worktree for the work of a run or a conversation.
//!
//! It is a folder of the repository, `.gadgetry/worktrees/NAME`, which Git ignores, with the branch NAME checked out. It is the
//! workspace of the agent, and it stays until the user removes it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::{env, fs, io};

use gadgetry::command::remove_secrets;
use gadgetry_builtins::program_outside;
use tokio::process::Command;

use crate::cli::{GadgetOptions, WorktreeArgs};
use crate::error::Error;
use crate::lines::{counted, one_line};
use crate::options::{Setting, Settings, Source, Value, WORKSPACE};
use crate::printer::Printer;

/// The folder in a repository that has the worktrees, and hides itself from Git.
const FOLDER: &str = ".gadgetry";
/// The folder of the worktrees in it.
const WORKTREES: &str = "worktrees";

/// Variables with values of settings for Git.
const EMPTY: &str = "GADGETRY_GIT_EMPTY";
const FALSE: &str = "GADGETRY_GIT_FALSE";

/// A worktree.
#[derive(Debug)]
pub(crate) struct Worktree {
    name: String,
    /// The folder of the working tree.
    folder: PathBuf,
    /// The branch that is checked out at the start.
    branch: String,
    /// The commit at the start.
    base: String,
    is_new: bool,
}

impl Worktree {
    /// Makes the worktree that these options name, or uses the one that is there, and makes it the workspace of the others.
    pub(crate) async fn of(
        args: &WorktreeArgs,
        source: &mut GadgetOptions,
        settings: &mut Settings,
    ) -> Result<Option<Self>, Error> {
        let Some(name) = &args.worktree else {
            return Ok(None);
        };
        let tree = Self::enter(&name.to_string(), source, settings).await?;
        Ok(Some(tree))
    }

    async fn enter(
        name: &str,
        source: &mut GadgetOptions,
        settings: &mut Settings,
    ) -> Result<Self, Error> {
        let here = env::current_dir().map_err(|error| Error::machine(&error))?;
        let root = root(&here).await?;
        let inner = said(&here, &["rev-parse", "--show-prefix"]).await?;
        let folder = root.join(FOLDER).join(WORKTREES).join(name);
        let is_new = !is_worktree(&folder, &root).await?;
        if is_new {
            make(name, &folder, &root).await?;
        }
        let base = said(&folder, &["rev-parse", "HEAD"]).await?;
        let branch = said(&folder, &["branch", "--show-current"]).await?;
        // The same folder in the worktree, if it has it.
        let workspace = Some(folder.join(inner)).filter(|it| it.is_dir());
        let workspace = workspace.unwrap_or_else(|| folder.clone());
        let value = Value::text(workspace.as_os_str());
        settings.insert(WORKSPACE, Setting::new(value, Source::Flag));
        source.workspace = Some(workspace);
        Ok(Self {
            name: name.to_owned(),
            folder,
            branch,
            base,
            is_new,
        })
    }

    /// Says where it is.
    pub(crate) fn announce(&self, printer: &Printer) {
        let state = if self.is_new { "new" } else { "as it was left" };
        printer.progress(&format!(
            "worktree {}: {} (branch {}, {state})\n",
            self.name,
            self.folder.display(),
            self.branch
        ));
    }

    /// Says what is in it at the end.
    pub(crate) async fn sum_up(&self, printer: &Printer) {
        let left = match self.left().await {
            Ok(left) => left,
            Err(error) => format!("Git does not say what is in it: {error}"),
        };
        let folder = self.folder.display();
        printer.progress(&format!(
            "worktree {}: {left}; it stays in {folder} until `git worktree remove {folder}`\n",
            self.name
        ));
    }

    async fn left(&self) -> Result<String, Error> {
        let status = [
            "status",
            "--porcelain",
            "--untracked-files=all",
            "--ignore-submodules=all",
        ];
        let changed = said(&self.folder, &status).await?.lines().count();
        let since = format!("{}..HEAD", self.base);
        let commits = said(&self.folder, &["rev-list", &since]).await?;
        let commits = commits.lines().count();
        let branch = said(&self.folder, &["branch", "--show-current"]).await?;
        let mut parts = Vec::new();
        if commits > 0 {
            parts.push(format!("{} on {branch}", counted(commits, "commit")));
        }
        if changed > 0 {
            parts.push(format!("{} not committed", counted(changed, "file")));
        }
        if parts.is_empty() {
            parts.push("nothing has changed".to_owned());
        }
        Ok(parts.join(", "))
    }
}

/// Returns the folder of the repository that a folder in one of its worktrees is a copy of.
pub(crate) fn original(folder: &Path) -> Option<PathBuf> {
    let tree = folder.ancestors().find(|tree| {
        let worktrees = tree.parent();
        worktrees.is_some_and(|it| it.ends_with(Path::new(FOLDER).join(WORKTREES)))
    })?;
    let inner = folder.strip_prefix(tree).ok()?;
    Some(tree.ancestors().nth(3)?.join(inner))
}

/// The folder of the repository: that of the main worktree, also from another one.
async fn root(here: &Path) -> Result<PathBuf, Error> {
    let arguments = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
    let common = said(here, &arguments).await;
    let common = PathBuf::from(common.map_err(|error| {
        Error::input(format_args!("--worktree needs a Git repository: {error}"))
    })?);
    match common.parent() {
        Some(root) if common.ends_with(".git") => Ok(root.to_owned()),
        _ => said(here, &["rev-parse", "--show-toplevel"])
            .await
            .map(PathBuf::from),
    }
}

/// Returns whether there is a worktree of the repository. Anything else in its place is an error.
async fn is_worktree(folder: &Path, root: &Path) -> Result<bool, Error> {
    match folder.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::at(folder.display(), error)),
        Ok(_) => {}
    }
    let has_git = folder.join(".git").symlink_metadata().is_ok();
    if has_git && self::root(folder).await? == root {
        return Ok(true);
    }
    Err(Error::at(
        folder.display(),
        "there is something else than a worktree of this repository; choose another name",
    ))
}

async fn make(name: &str, folder: &Path, root: &Path) -> Result<(), Error> {
    let own = root.join(FOLDER);
    let failed = |error: io::Error| Error::at(own.display(), error);
    // What a repository has in this place could lead elsewhere.
    let found = own.symlink_metadata();
    if found.is_ok_and(|it| !it.is_dir()) {
        return Err(Error::at(own.display(), "it is not a folder"));
    }
    fs::create_dir_all(&own).map_err(failed)?;
    let ignore = own.join(".gitignore");
    if ignore.symlink_metadata().is_err() {
        fs::write(ignore, "*\n").map_err(failed)?;
    }
    let reference = format!("refs/heads/{name}");
    let known = ["show-ref", "--verify", "--quiet", &reference];
    let is_known = git(root, &known).await?.status.success();
    let path = folder.display().to_string();
    let arguments = if is_known {
        vec!["worktree", "add", "--quiet", &path, name]
    } else {
        vec!["worktree", "add", "--quiet", "-b", name, &path]
    };
    said(root, &arguments).await.map(drop)
}

/// Runs Git, and returns what it says, without the newline at the end.
async fn said(folder: &Path, arguments: &[&str]) -> Result<String, Error> {
    let ended = git(folder, arguments).await?;
    if ended.status.success() {
        let text = String::from_utf8_lossy(&ended.stdout);
        return Ok(text.trim_end_matches('\n').to_owned());
    }
    let text = String::from_utf8_lossy(&ended.stderr);
    Err(Error::input(format_args!("Git: {}", one_line(text.trim()))))
}

/// Runs Git, which then runs no program of the repository or of its settings: what hooks, filters and monitors start may be the work of an
/// agent.
async fn git(folder: &Path, arguments: &[&str]) -> Result<Output, Error> {
    let settings = [
        "config",
        "-z",
        "--name-only",
        "--get-regexp",
        r"^(filter|hook)\.",
    ];
    let found = git_with(folder, &[], &settings).await?;
    // It ends with 1 if it finds no filter.
    if !matches!(found.status.code(), Some(0 | 1)) {
        return Ok(found);
    }
    let names = String::from_utf8(found.stdout).map_err(|error| {
        Error::input(format_args!(
            "Git: a filter or hook has an unreadable name: {error}"
        ))
    })?;
    let without: BTreeSet<String> = names.split('\0').flat_map(without).collect();
    let without: Vec<String> = without.into_iter().collect();
    git_with(folder, &without, arguments).await
}

/// Returns options without which Git would run the program that a setting names. A name may contain `=`, which `-c` cannot express.
fn without(setting: &str) -> Vec<String> {
    let option = |name: &str, key: &str, value: &str| format!("--config-env={name}.{key}={value}");
    match setting.rsplit_once('.') {
        Some((name, _)) if name.starts_with("filter.") => vec![
            option(name, "clean", EMPTY),
            option(name, "smudge", EMPTY),
            option(name, "process", EMPTY),
            option(name, "required", FALSE),
        ],
        Some((name, _)) if name.starts_with("hook.") => vec![option(name, "enabled", FALSE)],
        _ => Vec::new(),
    }
}

async fn git_with(folder: &Path, options: &[String], arguments: &[&str]) -> Result<Output, Error> {
    // Not one that an agent could have made, here or in a worktree.
    let tree = original(folder).unwrap_or_else(|| folder.to_owned());
    let mut above = tree.ancestors();
    let top = above.find(|it| it.join(".git").symlink_metadata().is_ok());
    let program = program_outside("git", &[top.unwrap_or(&tree)])
        .map_err(|error| Error::input(format_args!("--worktree needs Git: {error}")))?;
    let mut command = Command::new(program);
    for setting in [
        "core.fsmonitor=false",
        "core.hooksPath=/dev/null",
        "submodule.recurse=false",
    ] {
        command.args(["-c", setting]);
    }
    command.args(options).env(EMPTY, "").env(FALSE, "false");
    command.args(["--no-pager", "--no-optional-locks", "-C"]);
    command.arg(folder).args(arguments).kill_on_drop(true);
    remove_secrets(&mut command, &[], &[]);
    let ended = command.output().await;
    ended.map_err(|error| Error::input(format_args!("--worktree needs Git: {error}")))
}
