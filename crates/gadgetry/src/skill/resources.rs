//! The files of a skill, by their path inside it.
//!
//! A path is checked twice: as written, and again once all links are followed. Between the check and the reading, a process that
//! can write to the folder could replace a file with a link. But a process that can write to the folder can also change the skill
//! itself, so the standard library is sufficient here.

use std::fs::{self, File};
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use gadgetry_proto::schema::closest;

use super::error::ResourceError as Error;
use super::limits::{LISTED, RESOURCE_LIMIT, SKILL_FILE};

/// Maximum depth of listed folders.
const DEPTH: usize = 16;

/// A file that belongs to a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Path relative to the skill's folder, with `/` on every system.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
}

/// The first `limit` resources in order of their paths, folder by folder, and whether there are more.
pub(super) fn list(folder: &Path, limit: usize) -> io::Result<(Vec<Resource>, bool)> {
    let mut found = Vec::new();
    walk(folder, folder, "", 0, limit.saturating_add(1), &mut found)?;
    let more = found.len() > limit;
    found.truncate(limit);
    Ok((found, more))
}

fn walk(
    root: &Path,
    folder: &Path,
    prefix: &str,
    depth: usize,
    limit: usize,
    found: &mut Vec<Resource>,
) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if found.len() >= limit {
            return Ok(());
        }
        // A name that is not UTF-8 could not be requested.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if name.starts_with('.') || prefix.is_empty() && name == SKILL_FILE {
            continue;
        }
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            if depth < DEPTH {
                let prefix = format!("{path}/");
                walk(root, &entry.path(), &prefix, depth + 1, limit, found)?;
            }
        } else if let Ok((_, size)) = resolve(root, &path) {
            // A link to a folder is not followed, so there are no circles.
            found.push(Resource { path, size });
        }
    }
    Ok(())
}

/// The text of the file at `path`.
pub(super) fn read(folder: &Path, path: &str) -> Result<String, Error> {
    let (file, size) = match resolve(folder, path) {
        Err(Error::NotFound { path, .. }) => return Err(not_found(folder, path)),
        resolved => resolved?,
    };
    let too_large = |size| Error::TooLarge {
        path: path.to_owned(),
        size,
        limit: RESOURCE_LIMIT,
    };
    if size > RESOURCE_LIMIT {
        return Err(too_large(size));
    }
    let bytes = read_at_most(&file, RESOURCE_LIMIT).map_err(|error| Error::Read {
        path: path.to_owned(),
        error,
    })?;
    // It may have grown since.
    let bytes = bytes.ok_or_else(|| too_large(RESOURCE_LIMIT + 1))?;
    let size = bytes.len() as u64;
    let text = String::from_utf8(bytes).ok();
    // UTF-8 admits NUL, text files do not.
    let text = text.filter(|text| !text.contains('\0'));
    text.ok_or_else(|| Error::Binary {
        path: path.to_owned(),
        size,
    })
}

/// The bytes of a file, or `None` if it has more than `limit`.
pub(super) fn read_at_most(file: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// The regular file that `path` leads to, and its size in bytes. `folder` is canonical.
pub(super) fn resolve(folder: &Path, path: &str) -> Result<(PathBuf, u64), Error> {
    let given = || path.to_owned();
    let outside = || Error::Outside { path: given() };
    if !is_inside(Path::new(path)) {
        return Err(outside());
    }
    let failed = |error: io::Error| {
        let path = given();
        if matches!(error.kind(), NotFound | NotADirectory) {
            let closest = Vec::new();
            return Error::NotFound { path, closest };
        }
        Error::Read { path, error }
    };
    let file = folder.join(path).canonicalize().map_err(failed)?;
    if !file.strip_prefix(folder).is_ok_and(is_inside) {
        return Err(outside());
    }
    let metadata = fs::metadata(&file).map_err(failed)?;
    // Opening a pipe could wait forever.
    if !metadata.is_file() {
        return Err(Error::NotAFile { path: given() });
    }
    Ok((file, metadata.len()))
}

/// Returns whether the path stays inside a folder, and leads to no hidden file.
fn is_inside(path: &Path) -> bool {
    let mut names = path.components().filter(|name| *name != Component::CurDir);
    let is_plain = |name| match name {
        Component::Normal(name) => !name.as_encoded_bytes().starts_with(b"."),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            false
        }
    };
    !path.as_os_str().is_empty() && names.all(is_plain)
}

fn not_found(folder: &Path, path: String) -> Error {
    let (known, _) = list(folder, LISTED).unwrap_or_default();
    let closest = closest(&path, known.iter().map(|it| it.path.as_str()));
    let closest = closest.into_iter().map(str::to_owned).collect();
    Error::NotFound { path, closest }
}
