//! Renames files that a command has made and that Git would run code from.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt as _, MetadataExt as _};
use cap_std::fs::{Dir, Metadata};

use super::{Repositories, Way};
use crate::workspace::repository::walk::walk;
use crate::workspace::repository::ways::normal;
use crate::workspace::repository::{Layout, about, is_repository_name, settings};

/// Notes, and errors, about single repositories.
const NOTES: usize = 5;

impl Repositories {
    /// Disarms what was made since: entries named `.git`, files `HEAD`, and what is now on the ways that settings name.
    ///
    /// Returns a note for each.
    ///
    /// # Errors
    ///
    /// If a folder cannot be searched, or a repository cannot be disarmed. The others are.
    pub(in crate::sandbox) fn disarm_new(&self, workspace: &Dir) -> io::Result<Vec<String>> {
        let mut done = Done::default();
        // Those above come first; below what was renamed nothing is left.
        for (path, before) in &self.ways {
            let now = workspace.symlink_metadata(path).ok().map(|now| Way {
                identity: (now.dev(), now.ino()),
                link: workspace.read_link_contents(path).ok(),
            });
            if now.is_some() && now != *before {
                done.rename(workspace, path);
            }
        }
        let (mut new, mut moved) = (Vec::new(), Vec::new());
        let searched = walk(
            workspace,
            &mut |error| {
                done.failed.push(error.to_string());
                Ok(())
            },
            &mut |found| {
                let Some(before) = self.known.get(&found.identity()?) else {
                    new.push(found.path);
                    return Ok(true);
                };
                if *before != found.path {
                    moved.push(found.path);
                }
                Ok(false)
            },
        );
        if let Err(error) = searched {
            done.failed.push(error.to_string());
        }
        // What is in another one first: the path of the other one changes.
        new.sort_by(|one, other| other.cmp(one));
        for path in &new {
            done.disarm(workspace, path);
        }
        for path in &moved {
            if let Err(error) = self.disarm_named_by(workspace, path, &mut done) {
                done.failed(path, &error);
            }
        }
        if Layout::of(workspace)?.is_complete() {
            done.rename_heads(workspace, Path::new(""));
        }
        done.into_notes()
    }

    /// The settings of a repository that was moved may name other files than before.
    fn disarm_named_by(&self, workspace: &Dir, path: &Path, done: &mut Done) -> io::Result<()> {
        for named in settings::named_by(&self.root.join(path))? {
            let Some(inside) = self.inside(&normal(&named)) else {
                continue;
            };
            // What is in the repository itself could not be changed.
            if inside.starts_with(path) {
                continue;
            }
            // What could not be changed is as it was.
            let is_old = |found: &Metadata| {
                let identity = (found.dev(), found.ino());
                self.protected.values().any(|it| *it == identity)
            };
            let found = workspace.symlink_metadata(&inside);
            if found.is_ok_and(|found| !is_old(&found)) {
                done.rename(workspace, &inside);
            }
        }
        Ok(())
    }
}

/// Notes on what was renamed, and errors.
#[derive(Default)]
struct Done {
    notes: Vec<String>,
    failed: Vec<String>,
}

impl Done {
    fn disarm(&mut self, workspace: &Dir, path: &Path) {
        let is_folder = workspace
            .symlink_metadata(path)
            .is_ok_and(|found| found.is_dir());
        if is_folder {
            // Under another name it would still be a bare repository.
            self.rename_heads(workspace, path);
        }
        if path.file_name().is_some_and(is_repository_name) {
            self.rename(workspace, path);
        }
    }

    fn rename_heads(&mut self, workspace: &Dir, path: &Path) {
        let is_repository_name = path.file_name().is_some_and(is_repository_name);
        match heads(workspace, path) {
            Ok(heads) => {
                for head in heads {
                    let notes = self.notes.len();
                    self.rename(workspace, &head);
                    if is_repository_name {
                        // The note about the folder says it.
                        self.notes.truncate(notes);
                    }
                }
            }
            Err(error) => self.failed(path, &error),
        }
    }

    fn rename(&mut self, workspace: &Dir, path: &Path) {
        match rename(workspace, path) {
            Ok(to) => {
                let note = format!("{} was renamed to {}", path.display(), to.display());
                self.notes.push(note);
            }
            Err(error) => self.failed(path, &error),
        }
    }

    fn failed(&mut self, path: &Path, error: &io::Error) {
        let message = format!("would make Git run code, and cannot be renamed: {error}");
        self.failed.push(about(path, &message).to_string());
    }

    fn into_notes(mut self) -> io::Result<Vec<String>> {
        self.notes.sort();
        shorten(&mut self.notes);
        if self.failed.is_empty() {
            return Ok(self.notes);
        }
        shorten(&mut self.failed);
        Err(io::Error::other(self.failed.join("; ")))
    }
}

fn shorten(lines: &mut Vec<String>) {
    let more = lines.len().saturating_sub(NOTES);
    lines.truncate(NOTES);
    if more > 0 {
        lines.push(format!("{more} more"));
    }
}

fn rename(workspace: &Dir, path: &Path) -> io::Result<PathBuf> {
    for number in 1..1000 {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".untrusted-{number}"));
        let to = path.with_file_name(name);
        if workspace.symlink_metadata(&to).is_err() {
            workspace.rename(path, workspace, &to)?;
            return Ok(to);
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Returns the entries of a folder that Git may read as `HEAD`, in whatever case.
pub(crate) fn heads(workspace: &Dir, path: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = if path.as_os_str().is_empty() {
        workspace.try_clone()?
    } else {
        workspace.open_dir_nofollow(path)?
    };
    let mut heads = Vec::new();
    for entry in folder.entries()? {
        let name = entry?.file_name();
        if name.eq_ignore_ascii_case("HEAD") {
            heads.push(path.join(name));
        }
    }
    Ok(heads)
}
