//! Folders that Git or Mercurial uses as a repository.
//!
//! A repository has settings and hooks that start programs, at the next `git status` of the user. Git finds one by an entry
//! `.git` (a folder, a link, or a file that names a folder), and takes any folder that is laid out as one (a bare repository,
//! the folders in `.git/worktrees` and `.git/modules`) for a repository as well.
//!
//! What is decided here is stricter than Git where Git depends on contents or on the environment: a `HEAD` of any content
//! counts, and names are compared without regard to case, as on file systems that ignore it.

pub(crate) mod lines;
pub(crate) mod settings;
pub(crate) mod walk;
pub(crate) mod ways;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use cap_std::fs::{Dir, FileType};

/// A file by its device and its number.
pub(crate) type Identity = (u64, u64);

/// An entry of a folder, or the folder itself, by which Git would use it as a repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Marker {
    /// A folder named `.git`. The name is as written.
    Folder(OsString),
    /// A file or another special file named `.git`, which names a folder elsewhere.
    File(OsString),
    /// A symbolic link named `.git`.
    Link(OsString),
    /// The folder is laid out as a repository itself.
    Bare,
}

/// The entries of a folder that decide whether it is laid out as a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four names that are there or not"
)]
pub(crate) struct Layout {
    head: bool,
    objects: bool,
    refs: bool,
    /// Names the folder that has `objects` and `refs`.
    common: bool,
}

impl Layout {
    /// Reads the names in a folder.
    pub(crate) fn of(dir: &Dir) -> io::Result<Self> {
        let mut layout = Self::default();
        for entry in dir.entries()? {
            let entry = entry?;
            layout.add(&entry.file_name(), entry.file_type()?.is_dir());
        }
        Ok(layout)
    }

    /// Adds an entry.
    pub(crate) fn add(&mut self, name: &OsStr, is_folder: bool) {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        // Git reads these two, which it cannot do with a folder.
        self.head |= !is_folder && is("HEAD");
        self.common |= !is_folder && is("commondir");
        self.objects |= is("objects");
        self.refs |= is("refs");
    }

    /// Returns whether Git would use the folder as a repository.
    pub(crate) fn is_complete(self) -> bool {
        self.head && (self.common || self.objects && self.refs)
    }
}

/// Returns whether a folder is laid out as the folder of a repository, as Git's `is_git_directory` decides.
pub(crate) fn is_git_directory(dir: &Dir) -> io::Result<bool> {
    Layout::of(dir).map(Layout::is_complete)
}

/// Returns whether a folder, by its absolute path, is one of a repository's own, such as `.git/hooks`. A work tree may be in the folder of
/// a repository, but has a `.git` of its own.
pub(crate) fn is_in_repository(folder: &Path) -> bool {
    for above in folder.ancestors() {
        let has = |name: &str| above.join(name).symlink_metadata().is_ok();
        if above.file_name().is_some_and(is_repository_name) {
            return true;
        }
        if has(".git") {
            return false;
        }
        if has("HEAD") && (has("commondir") || has("objects") && has("refs")) {
            return true;
        }
    }
    false
}

/// Returns everything by which Git would use a folder as a repository: entries named `.git` or `.hg`, and its own layout.
///
/// # Errors
///
/// The folder cannot be read. Then it may be a repository.
pub(crate) fn markers(dir: &Dir) -> io::Result<Vec<Marker>> {
    let (mut layout, mut markers) = (Layout::default(), Vec::new());
    for entry in dir.entries()? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        layout.add(&name, kind.is_dir());
        if is_repository_name(&name) {
            markers.push(marker(name, kind));
        }
    }
    if layout.is_complete() {
        markers.push(Marker::Bare);
    }
    markers.sort();
    Ok(markers)
}

fn marker(name: OsString, kind: FileType) -> Marker {
    if kind.is_dir() {
        Marker::Folder(name)
    } else if kind.is_symlink() {
        Marker::Link(name)
    } else {
        Marker::File(name)
    }
}

/// Returns whether a file system may take a name for `.git`, or for Mercurial's `.hg`, whose `hgrc` starts programs as well: without
/// regard to case, to what HFS+ ignores (characters without width), and to what NTFS does (dots and spaces at the end, streams, the
/// short names `git~1` and `hg~1`).
pub(crate) fn is_repository_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let name = name.split(':').next().unwrap_or_default();
    let seen: String = name.chars().filter(|c| !is_ignored(*c)).collect();
    let seen = seen.trim_end_matches([' ', '.']);
    let names = [".git", "git~1", ".hg", "hg~1"];
    names.iter().any(|it| seen.eq_ignore_ascii_case(it))
}

/// Characters that HFS+ ignores in names, as Git lists them.
fn is_ignored(c: char) -> bool {
    matches!(
        c,
        '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
    )
}

/// An error about a path.
pub(crate) fn about(path: &Path, message: &str) -> io::Error {
    io::Error::other(format!("{} {message}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use cap_std::ambient_authority;

    use super::*;

    /// Makes the entries: a folder if the name ends with `/`, a link if it has ` -> `, otherwise a file with Git's own content.
    fn folder(entries: &[&str]) -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        for entry in entries {
            let path = |name: &str| folder.path().join(name);
            if let Some((name, target)) = entry.split_once(" -> ") {
                #[cfg(unix)]
                std::os::unix::fs::symlink(target, path(name)).unwrap();
            } else if let Some(name) = entry.strip_suffix('/') {
                fs::create_dir_all(path(name)).unwrap();
            } else {
                let content = match *entry {
                    "commondir" => "common\n",
                    _ => "ref: refs/heads/main\n",
                };
                fs::write(path(entry), content).unwrap();
            }
        }
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        (folder, dir)
    }

    /// Returns whether Git itself uses the folder; `None` where there is no Git.
    fn git_uses(folder: &Path) -> Option<bool> {
        let ended = Command::new("git")
            .args(["-c", "safe.directory=*", "rev-parse", "--git-dir"])
            .current_dir(folder)
            .env_remove("GIT_DIR")
            .env("GIT_CEILING_DIRECTORIES", folder.parent()?)
            .output()
            .ok()?;
        Some(ended.status.success())
    }

    #[cfg(unix)]
    #[test]
    fn layouts() {
        let check = |entries: &[&str], expected: bool| {
            let (path, dir) = folder(entries);
            assert_eq!(is_git_directory(&dir).unwrap(), expected, "{entries:?}");
            // Never less strict than Git.
            if git_uses(path.path()) == Some(true) {
                assert!(expected, "{entries:?}");
            }
        };
        check(&[], false);
        check(&["HEAD"], false);
        check(&["HEAD", "objects/"], false);
        check(&["HEAD", "refs/"], false);
        check(&["objects/", "refs/", "config"], false);
        check(&["HEAD/", "objects/", "refs/"], false);
        check(&["HEAD", "objects/", "refs/"], true);
        check(&["HEAD -> refs/heads/main", "objects/", "refs/"], true);
        check(
            &["HEAD", "there/", "objects -> there", "refs -> there"],
            true,
        );
        check(&["head", "OBJECTS/", "Refs/"], true);
        check(
            &["HEAD", "commondir", "common/objects/", "common/refs/"],
            true,
        );
        check(&["HEAD", "commondir"], true);
        check(&["commondir", "objects/", "refs/"], false);
        check(&["HEAD", "commondir/", "objects/"], false);
    }

    #[cfg(unix)]
    #[test]
    fn what_makes_a_folder_a_repository() {
        let check = |entries: &[&str], expected: &[Marker]| {
            let (_path, dir) = folder(entries);
            assert_eq!(markers(&dir).unwrap(), expected, "{entries:?}");
        };
        let name = OsString::from;
        check(&["git", ".github/", "src/"], &[]);
        check(&[".git/"], &[Marker::Folder(name(".git"))]);
        check(&[".git"], &[Marker::File(name(".git"))]);
        check(&[".git -> elsewhere"], &[Marker::Link(name(".git"))]);
        check(
            &[".GIT/", ".git -> x", "HEAD", "objects/", "refs/"],
            &[
                Marker::Folder(name(".GIT")),
                Marker::Link(name(".git")),
                Marker::Bare,
            ],
        );
    }

    #[test]
    fn names() {
        for (name, expected) in [
            (".git", true),
            (".GiT", true),
            (".g\u{200c}it", true),
            (".git. .", true),
            (".git::$INDEX_ALLOCATION", true),
            ("GIT~1", true),
            (".hg", true),
            (".HG .", true),
            ("hg~1", true),
            (".hgignore", false),
            (".gitignore", false),
            (".github", false),
            ("git", false),
            ("a.git", false),
        ] {
            assert_eq!(is_repository_name(OsStr::new(name)), expected, "{name:?}");
        }
    }
}
