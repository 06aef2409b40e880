//! The way of a path, link by link.

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
