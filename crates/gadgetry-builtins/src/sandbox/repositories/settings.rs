//! Files of a workspace that the settings of a repository name: more settings, and folders of hooks.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

/// Bytes of a file of settings. Git reads larger ones, but no one has them.
const LIMIT: u64 = 1 << 20;

/// Returns the paths in the workspace that the repository at `path` names: by links instead of its own files, by `include.path` and
/// `core.hooksPath`. They may not exist.
pub(super) fn named_by(workspace: &Dir, root: &Path, path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut named = Vec::new();
    let Some(folder) = folder_of(workspace, root, path)? else {
        return Ok(named);
    };
    for name in ["config", "config.worktree", "hooks", "commondir"] {
        let file = folder.join(name);
        if let Ok(target) = workspace.read_link_contents(&file) {
            named.extend(normal(root, &folder.join(target)));
        }
    }
    let above = path.parent().unwrap_or(Path::new(""));
    for name in ["config", "config.worktree"] {
        for (key, value) in paths(&text(workspace, &folder.join(name))?) {
            // Hooks are relative to the folder in which they run, settings to the file that names them.
            let base = if key == "hookspath" { above } else { &folder };
            named.extend(normal(root, &base.join(at_home(&value))));
        }
    }
    Ok(named)
}

/// The folder of a repository: `path`, or what the file at `path` names. `None` if that is outside.
fn folder_of(workspace: &Dir, root: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    if workspace.symlink_metadata(path)?.is_dir() {
        return Ok(Some(path.to_owned()));
    }
    let text = text(workspace, path)?;
    let target = text.strip_prefix("gitdir:").unwrap_or_default().trim();
    let above = path.parent().unwrap_or(Path::new(""));
    Ok(normal(root, &above.join(target)))
}

/// The text of a file; empty if it does not exist or is outside.
fn text(workspace: &Dir, path: &Path) -> io::Result<String> {
    let Ok(file) = workspace.open(path) else {
        return Ok(String::new());
    };
    let mut bytes = Vec::new();
    file.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        return Err(io::Error::other(format!(
            "{} is too large for settings of Git",
            path.display()
        )));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The values of `path` and `hooksPath`, with their keys in lower case, in whatever section they are.
fn paths(settings: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in settings.lines() {
        // A section may be in the same line.
        let line = line.trim_start();
        let line = match line.strip_prefix('[') {
            Some(rest) => rest.rsplit_once(']').map_or("", |(_, rest)| rest),
            None => line,
        };
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let key = key.trim().to_ascii_lowercase();
        if matches!(key.as_str(), "path" | "hookspath") {
            let value = value.replace(['"', '\\'], "");
            found.push((key, value.trim().to_owned()));
        }
    }
    found
}

/// `~/` is the home directory.
fn at_home(value: &str) -> PathBuf {
    match (value.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => value.into(),
    }
}

/// A path relative to the workspace, without `.` and `..`; `None` if it leads elsewhere.
fn normal(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut normal = root.to_owned();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Normal(name) => normal.push(name),
            Component::RootDir => normal = PathBuf::from("/"),
            Component::Prefix(_) => return None,
        }
    }
    let inside = normal.strip_prefix(root).ok()?;
    (inside != Path::new("")).then(|| inside.to_owned())
}
