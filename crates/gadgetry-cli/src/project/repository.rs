//! The Git repository around a folder, from its files. Git itself is not started.

use std::path::{Path, PathBuf};

use gadgetry_files as files;

/// Bytes of the files that name a branch or a repository.
const LIMIT: u64 = 4096;

/// A Git repository.
#[derive(Debug)]
pub(super) struct Repository {
    /// The folder that has `.git`.
    root: PathBuf,
    /// The folder that has `HEAD`.
    git: PathBuf,
}

impl Repository {
    /// Finds the repository that a folder, which is canonical, belongs to.
    ///
    /// A `.git` of another user does not count: in a folder that all users can write, such as `/tmp`, it would decide what is read.
    pub(super) fn around(folder: &Path) -> Option<Self> {
        let with_git = |it: &&Path| it.join(".git").symlink_metadata().is_ok();
        let root = folder.ancestors().find(with_git)?;
        let git = root.join(".git");
        if !belongs_to_us(&git, folder) {
            return None;
        }
        let named = files::text(&git, LIMIT).ok();
        let named = named.as_deref().and_then(|it| it.strip_prefix("gitdir:"));
        let git = named.map_or(git, |named| root.join(named.trim()));
        Some(Self {
            root: root.to_owned(),
            git,
        })
    }

    /// The folder that has `.git`.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the branch, or the commit that is checked out without one.
    pub(super) fn branch(&self) -> Option<String> {
        let head = files::text(&self.git.join("HEAD"), LIMIT).ok()?;
        let head = head.trim_end();
        if let Some(branch) = head.strip_prefix("ref: refs/heads/") {
            return Some(branch.to_owned());
        }
        let is_commit = head.len() >= 40 && head.bytes().all(|it| it.is_ascii_hexdigit());
        is_commit.then(|| format!("none, commit {}", &head[..8]))
    }
}

#[cfg(unix)]
fn belongs_to_us(git: &Path, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let owner = |path: &Path| path.symlink_metadata().map(|it| it.uid()).ok();
    let found = owner(git);
    found == Some(rustix::process::geteuid().as_raw()) || found == owner(folder)
}

#[cfg(not(unix))]
fn belongs_to_us(_: &Path, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn branches() {
        let check = |head: &str, expected: Option<&str>| {
            let folder = tempfile::tempdir().expect("a folder");
            fs::create_dir_all(folder.path().join(".git")).expect("a folder");
            fs::create_dir_all(folder.path().join("a/b")).expect("a folder");
            fs::write(folder.path().join(".git/HEAD"), head).expect("a file");
            let found = Repository::around(&folder.path().join("a/b")).expect("a repository");
            assert_eq!(found.root(), folder.path());
            assert_eq!(found.branch().as_deref(), expected, "{head}");
        };
        check("ref: refs/heads/main\n", Some("main"));
        check("ref: refs/heads/feature/x\n", Some("feature/x"));
        check(
            "0123456789abcdef0123456789abcdef01234567\n",
            Some("none, commit 01234567"),
        );
        check("ref: refs/tags/x\n", None);
        check("root:x:0:0\n", None);
        check("", None);
        check(&"x".repeat(5000), None);
    }

    #[test]
    fn a_worktree_names_its_repository() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::create_dir_all(folder.join("git")).expect("a folder");
        fs::write(folder.join("git/HEAD"), "ref: refs/heads/other\n").expect("a file");
        fs::write(folder.join(".git"), "gitdir: git\n").expect("a file");
        let found = Repository::around(folder).expect("a repository");
        assert_eq!(found.branch().as_deref(), Some("other"));
        assert!(Repository::around(Path::new("/")).is_none());
    }
}
