//! Files that the settings of a repository name: more settings, and folders of hooks.

mod parse;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Bytes of a file of settings. Git reads larger ones, but no one has them.
const LIMIT: u64 = 1 << 20;

/// Files of settings, and entries of folders of Git, that are looked at.
const MOST: usize = 10_000;

/// Folders of a repository that have data only, and much of it.
const DATA: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// Returns the absolute paths that the repositories above a folder name.
pub(crate) fn named_above(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut named = Vec::new();
    for above in folder.ancestors().skip(1) {
        let git = above.join(".git");
        if fs::symlink_metadata(&git).is_ok() {
            named.extend(named_by(&git)?);
        }
    }
    Ok(named)
}

/// Returns the absolute paths that a repository names: by links in it, `include.path`, `core.hooksPath` and the like, in its own
/// settings, in those that these include, and in those of the user. `git` is its folder, or the file that names it. The paths may not exist.
pub(crate) fn named_by(git: &Path) -> io::Result<Vec<PathBuf>> {
    let above = git.parent().unwrap_or(Path::new("/"));
    let folder = if git.is_file() {
        let text = text(git)?;
        above.join(text.strip_prefix("gitdir:").unwrap_or_default().trim())
    } else {
        git.to_owned()
    };
    let common = match text(&folder.join("commondir"))? {
        text if text.is_empty() => folder.clone(),
        text => folder.join(text.trim()),
    };
    let mut named = links(&folder)?;
    let mut files = of_user();
    for folder in BTreeSet::from([&folder, &common]) {
        files.extend(["config", "config.worktree"].map(|name| folder.join(name)));
    }
    if common != folder {
        named.extend(links(&common)?);
    }
    // Of a bare repository, hooks are relative to its own folder.
    let top = if git.ends_with(".git") || git.is_file() {
        above
    } else {
        git
    };
    let mut seen = BTreeSet::new();
    while let Some(file) = files.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        if seen.len() > MOST {
            return Err(io::Error::other("too many files of Git's settings"));
        }
        for (key, value) in parse::values(&text(&file)?) {
            let value = at_home(&value);
            match key.as_str() {
                // Relative to the file that names it.
                "path" => {
                    let path = file.parent().unwrap_or(top).join(value);
                    named.push(path.clone());
                    files.push(path);
                }
                "hookspath" | "fsmonitor" | "templatedir" => named.push(top.join(value)),
                _ => {}
            }
        }
    }
    Ok(named)
}

/// Finds the targets of links in the folder of a repository.
fn links(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(inner) = left.pop() {
        // The folder of a worktree that was removed, or of another user.
        let Ok(entries) = fs::read_dir(&inner) else {
            continue;
        };
        let entries = entries.collect::<io::Result<Vec<_>>>()?;
        // Those of submodules are in folders of it.
        let is_repository = inner == folder || entries.iter().any(|it| it.file_name() == "HEAD");
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type()?);
            seen += 1;
            if seen > MOST {
                let folder = folder.display();
                return Err(io::Error::other(format!(
                    "{folder} has too many entries to be protected"
                )));
            }
            if kind.is_symlink() {
                found.push(inner.join(fs::read_link(&path)?));
            } else if kind.is_dir()
                && !(is_repository && DATA.iter().any(|it| entry.file_name() == *it))
            {
                left.push(path);
            }
        }
    }
    Ok(found)
}

/// The settings of the user and of the system.
pub(crate) fn of_user() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(home.as_ref()?.join(".config")));
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    files.extend(home.map(|home| home.join(".gitconfig")));
    files.extend(config.map(|config| config.join("git/config")));
    for variable in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        files.extend(std::env::var_os(variable).map(PathBuf::from));
    }
    files
}

/// The text of a file; empty if it cannot be read, as for Git.
fn text(path: &Path) -> io::Result<String> {
    // Opening a named pipe would wait for a writer.
    if !path.is_file() {
        return Ok(String::new());
    }
    let Ok(file) = File::open(path) else {
        return Ok(String::new());
    };
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        let path = path.display();
        return Err(io::Error::other(format!(
            "{path} is too large for settings of Git"
        )));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `~/` is the home directory.
fn at_home(value: &str) -> PathBuf {
    match (value.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => value.into(),
    }
}
