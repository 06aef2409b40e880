//! Programs that are found by their names, in the folders of `PATH`.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::repository::ways;

/// Returns the folders of `PATH` that are in a workspace, whose path has no links, and links in all folders of `PATH` that lead into it.
/// A program that a call writes there would run in place of one with the same name.
pub(super) fn found_in(root: &Path, folders: &[&Path]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for folder in ways::searched(folders) {
        // Not those of the workspace itself, which cannot be protected. Often `/bin` is `/usr/bin`.
        if fs::canonicalize(&folder).is_ok_and(|it| it != root && seen.insert(it))
            && let Ok(entries) = fs::read_dir(&folder)
        {
            let links = entries.flatten();
            let links = links.filter(|it| it.file_type().is_ok_and(|kind| kind.is_symlink()));
            let links = links.map(|it| it.path());
            found.extend(links.filter(|link| ways::leads_into(root, link)));
        }
        if ways::leads_into(root, &folder) {
            found.push(folder);
        }
    }
    found
}

/// Returns the program of a name that `PATH` has outside of folders: what the program itself starts must not be the work of its agents.
///
/// # Errors
///
/// If `PATH` has no such program.
///
/// ```
/// # #[cfg(unix)] {
/// let sh = gadgetry_builtins::program_outside("sh", &["/home/me/project".as_ref()])?;
/// assert!(sh.is_absolute());
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn program_outside(name: &str, folders: &[&Path]) -> io::Result<PathBuf> {
    // Nothing is outside the root.
    let folders = folders.iter().filter(|it| it.parent().is_some());
    let mut inside: Vec<PathBuf> = folders.clone().map(|it| (*it).to_owned()).collect();
    inside.extend(folders.filter_map(|it| it.canonicalize().ok()));
    let is_outside = |path: &Path| !inside.iter().any(|folder| path.starts_with(folder));
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    let all = env::var_os("PATH").unwrap_or_default();
    for above in env::split_paths(&all).filter(|it| it.is_absolute() && is_outside(it)) {
        let path = above.join(&file);
        let ends = [above.canonicalize(), path.canonicalize()];
        let is_safe = |end: &io::Result<PathBuf>| end.as_ref().is_ok_and(|it| is_outside(it));
        if path.is_file() && ends.iter().all(is_safe) {
            return Ok(path);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        format!("PATH has no {name} outside the workspace"),
    ))
}
