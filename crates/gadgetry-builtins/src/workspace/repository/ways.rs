//! The way of a path, link by link.

use std::env;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use super::about;

/// Links on the way to a path, as the kernel follows them.
const LINKS: usize = 40;

/// Bytes of a name that a file may have. Settings have longer words.
const NAME: usize = 255;

/// Follows an absolute path as the kernel does, and reports each entry on its way; without metadata the entry does not exist, and
/// nothing after it is reported.
///
/// Returns where the path leads, with the names that do not exist as they are written; `None` if its links have no end.
///
/// # Errors
///
/// If an entry may exist, but cannot be looked at.
pub(crate) fn follow(
    path: &Path,
    entry: &mut impl FnMut(&Path, Option<&Metadata>),
) -> io::Result<Option<PathBuf>> {
    let mut here = PathBuf::from("/");
    let mut left = names(path);
    let mut links = 0;
    let mut exists = true;
    while let Some(name) = left.pop() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&name);
        if !exists {
            here = next;
            continue;
        }
        let found = match fs::symlink_metadata(&next) {
            Ok(found) => Some(found),
            Err(error) if is_absent(&error) || name.len() > NAME => None,
            Err(error) => return Err(about(&next, &format!("cannot be looked at: {error}"))),
        };
        entry(&next, found.as_ref());
        let Some(found) = found else {
            exists = false;
            here = next;
            continue;
        };
        if !found.is_symlink() {
            here = next;
            continue;
        }
        links += 1;
        if links > LINKS {
            return Ok(None);
        }
        let target = fs::read_link(&next)?;
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        left.extend(names(&target));
    }
    Ok(Some(here))
}

/// Returns whether an absolute path leads through a folder, whose own path has no links: what is in the folder decides then where it ends.
pub(crate) fn leads_into(folder: &Path, path: &Path) -> bool {
    let mut is_inside = normal(path).starts_with(folder);
    let end = follow(path, &mut |entry, _| {
        is_inside |= entry.starts_with(folder) && entry != folder;
    });
    let end = end.ok().flatten();
    is_inside || end.is_some_and(|end| end.starts_with(folder))
}

/// The folders of `PATH`. Relative ones, and empty ones, begin in each of the folders in which a program is started.
pub(crate) fn searched(folders: &[&Path]) -> Vec<PathBuf> {
    let all = env::var_os("PATH").unwrap_or_default();
    let mut found = Vec::new();
    for entry in env::split_paths(&all) {
        if entry.is_absolute() {
            found.push(entry);
        } else {
            found.extend(folders.iter().map(|it| it.join(&entry)));
        }
    }
    found
}

/// Returns the files of a name that `PATH` has, for programs that are started in one of the folders.
pub(crate) fn programs(name: &Path, folders: &[&Path]) -> Vec<PathBuf> {
    if name.components().count() != 1 {
        return Vec::new();
    }
    let mut found: Vec<PathBuf> = searched(folders).iter().map(|it| it.join(name)).collect();
    found.retain(|path| path.is_file());
    found
}

/// Returns whether an error says that Git could not read a file either. One whose path is too long may get a shorter one.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    let is_absent = matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::PermissionDenied
            | ErrorKind::InvalidInput
    );
    // Elsewhere, names with certain characters are errors of their own.
    is_absent || cfg!(not(unix))
}

/// The names of a path, the first one last; an absolute path begins elsewhere.
fn names(path: &Path) -> Vec<OsString> {
    let mut names: Vec<OsString> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => names.push("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    names.reverse();
    names
}

/// A path without `.` and `..`.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::from("/");
    for name in names(path).into_iter().rev() {
        if name == ".." {
            normal.pop();
        } else {
            normal.push(name);
        }
    }
    normal
}
