//! Files of the workspace that the program itself runs or reads: scripts of its hooks, its settings.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::repository::{lines, ways};
use super::{FileError, Workspace, WorkspacePath, searched};

/// Changes of the folder in a line that are followed.
const CHANGES: usize = 8;

/// Endings of scripts.
const ENDINGS: [&str; 18] = [
    "bash", "bat", "cjs", "cmd", "exe", "fish", "js", "jsx", "lua", "mjs", "php", "pl", "ps1",
    "py", "rb", "sh", "ts", "zsh",
];

/// Bytes of a path that is looked for.
const LONGEST: usize = 1000;

/// Returns the files that a command line names, for [`Workspace::protect`]: those that its words lead to from any of the folders, those
/// below the folders whose name is in the line, together with the names of all folders between, and programs that `PATH` finds elsewhere,
/// if a link leads from there into one of the folders.
///
/// A file that does not exist is among them if a word leads to it, also after `cd` or a variable, and if the word has the ending of a
/// script (`guard.sh`), or a folder and no ending (`./guard`): a call could make it, and the line would run it.
///
/// So it does not matter how the line leads to them. What they load or start in turn is unknown.
///
/// # Errors
///
/// If a folder cannot be searched, or has too many entries, or if the line is too long.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("guard.sh"), "exit 0")?;
/// let files = gadgetry_builtins::files_in_line("sh \"$(pwd)/guard.sh\"", &[folder.path()])?;
/// assert_eq!(files, [folder.path().join("guard.sh")]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn files_in_line(line: &str, folders: &[&Path]) -> io::Result<Vec<PathBuf>> {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let roots: Vec<PathBuf> = (folders.iter())
        .filter_map(|it| it.canonicalize().ok())
        .collect();
    let mut files = Vec::new();
    // First, since it limits the line.
    for folder in folders {
        files.extend(lines::files_below(folder, line.as_bytes())?);
    }
    for word in lines::words(line) {
        let mut paths: Vec<PathBuf> = match word.strip_prefix("~/") {
            Some(rest) => vec![home.join(rest)],
            None => folders.iter().map(|folder| folder.join(&word)).collect(),
        };
        // Its folders are not among them: `cargo test src` reads `src`.
        paths.retain(|path| path.is_file());
        files.extend(paths);
        let programs = ways::programs(Path::new(&word), folders).into_iter();
        files.extend(programs.filter(|it| roots.iter().any(|root| ways::leads_into(root, it))));
    }
    let missing = missing(line, &roots, &home).into_iter();
    files.extend(missing.filter(|it| roots.iter().any(|root| ways::leads_into(root, it))));
    Ok(files)
}

/// Returns the paths that may be those of files of a line, and that do not exist.
fn missing(line: &str, folders: &[PathBuf], home: &Path) -> Vec<PathBuf> {
    let mut starts = folders.to_vec();
    for folder in lines::changed_to(line).iter().take(CHANGES) {
        starts.extend(folders.iter().map(|it| it.join(after_variable(folder))));
    }
    let mut found = BTreeSet::new();
    for word in lines::words(line) {
        let name = word.rsplit('/').next().unwrap_or_default();
        let ending = name.trim_matches('.').rsplit_once('.');
        // Data has other endings: `echo done > log.txt` starts nothing.
        let is_program = match ending {
            Some((_, ending)) => ENDINGS.contains(&ending),
            None => word.contains('/'),
        };
        let in_home = word.strip_prefix("~/");
        let rest = in_home.unwrap_or_else(|| after_variable(&word));
        let is_path = !word.starts_with('-') && !rest.contains(['*', '?', '[', '{', '$', '~']);
        // Longer ones could not be looked at, and not be made.
        if word.len() > LONGEST || !is_path || !is_program {
            continue;
        }
        if in_home.is_some() {
            found.insert(home.join(rest));
            continue;
        }
        found.extend(starts.iter().map(|start| start.join(rest)));
        found.extend(word.starts_with('/').then(|| PathBuf::from(&word)));
    }
    let is_missing = |it: &PathBuf| fs::metadata(it).is_err_and(|error| ways::is_absent(&error));
    found.into_iter().filter(is_missing).collect()
}

/// Returns what follows a variable or a command at the beginning of a word, of which only a `/` may be left.
fn after_variable(word: &str) -> &str {
    let has_one = word.starts_with(['$', '/']);
    let after = word.split_once('/').filter(|_| has_one);
    after.map_or(word, |(_, after)| after)
}

impl Workspace {
    /// Protects files from which this program itself runs code, such as the scripts of hooks: built-in gadgets do not change them, and
    /// neither do commands in the sandbox. Paths are absolute. Those outside the workspace have no effect. A folder is protected with
    /// everything below it, unless it is the workspace itself: then the sandbox refuses all commands.
    ///
    /// ```
    /// use gadgetry_builtins::Workspace;
    /// let folder = tempfile::tempdir()?;
    /// let workspace = Workspace::open(folder.path())?;
    /// workspace.protect([workspace.root().join("guard.sh")]);
    /// assert!(workspace.write(&workspace.resolve("guard.sh")?, b"exit 0").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn protect(&self, files: impl IntoIterator<Item = impl Into<PathBuf>>) {
        let protected = self.protected.lock();
        let mut protected = protected.unwrap_or_else(PoisonError::into_inner);
        protected.extend(files.into_iter().map(Into::into));
    }

    /// Protects what `PATH` finds in the workspace, also by links from elsewhere. Its relative folders begin in the workspace, in the
    /// working directory, and in other folders in which programs are started.
    ///
    /// ```
    /// use gadgetry_builtins::Workspace;
    /// let folder = tempfile::tempdir()?;
    /// let workspace = Workspace::open(folder.path())?;
    /// workspace.protect_searched([workspace.root().join("server")]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn protect_searched(&self, folders: impl IntoIterator<Item = impl Into<PathBuf>>) {
        let here = std::env::current_dir().unwrap_or_default();
        let folders = folders.into_iter().map(|it| here.join(it.into()));
        let folders: Vec<PathBuf> = folders.collect();
        let mut all: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        all.extend([self.root(), &here]);
        self.protect(searched::found_in(self.root(), &all));
    }

    /// Returns the files that [`protect`](Self::protect) was given.
    pub(crate) fn protected(&self) -> Vec<PathBuf> {
        let protected = self.protected.lock();
        let protected = protected.unwrap_or_else(PoisonError::into_inner);
        protected.iter().cloned().collect()
    }

    /// Fails for a protected file, for what is below it, for a link on the way to it, and for the folders that they are in.
    pub(super) fn refuse_protected(&self, path: &WorkspacePath) -> Result<(), FileError> {
        let is_at = |entry: &Path| {
            let inside = entry.strip_prefix(self.root()).unwrap_or(Path::new(""));
            let is_inside = !inside.as_os_str().is_empty();
            is_inside && (inside.starts_with(path.as_path()) || path.as_path().starts_with(inside))
        };
        for file in self.protected() {
            let mut is_refused = is_at(&ways::normal(&file));
            let end = ways::follow(&file, &mut |entry, found| {
                let is_link = found.is_some_and(std::fs::Metadata::is_symlink);
                is_refused |= is_link && is_at(entry);
            });
            let end = end.map_err(|source| FileError::io(path, source))?;
            if is_refused || end.is_some_and(|end| is_at(&end)) {
                return Err(FileError::Protected(path.clone()));
            }
        }
        Ok(())
    }
}
