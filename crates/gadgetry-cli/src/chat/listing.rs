//! Files of the working directory, for completion: listed on threads, and delivered in pieces while more are found.

use std::path::{Component, Path, PathBuf};

use gadgetry::proto::visible::visible_line;
use ignore::{DirEntry, WalkBuilder};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

/// Names that are listed, so that memory is bounded. Those of a folder that the user has named are listed in any case.
const MOST: usize = 500_000;
/// Names of one folder that the user has named.
const MOST_OF_FOLDER: usize = 20_000;
/// Depth of folders that are looked at.
const DEEPEST: usize = 16;
/// Names in one piece at most.
const PIECE: usize = 1000;
/// Pieces that wait to be taken.
const WAITING: usize = 4;

/// A listing in progress. Dropping it ends its threads.
pub(super) struct Listing {
    root: PathBuf,
    pieces: mpsc::Sender<Vec<String>>,
    found: mpsc::Receiver<Vec<String>>,
}

impl Listing {
    /// Begins to list the files below a folder that no ignore rule hides, what is directly in it first.
    pub(super) fn start(root: &Path) -> Self {
        let (pieces, found) = mpsc::channel(WAITING);
        let (walker, to) = (root.to_owned(), pieces.clone());
        spawn_blocking(move || {
            let mut names = Names::new(&walker, to, MOST);
            // Folders that others are in are known before the first one was looked through.
            if names.walk(&walker, 1, 0) {
                names.walk(&walker, DEEPEST, 1);
            }
        });
        Self {
            root: root.to_owned(),
            pieces,
            found,
        }
    }

    /// Lists what is directly in a folder below, at once.
    pub(super) fn folder(&self, folder: &str) {
        let (root, to) = (self.root.clone(), self.pieces.clone());
        let folder = PathBuf::from(folder);
        spawn_blocking(move || {
            let is_inside =
                |it: Component<'_>| matches!(it, Component::Normal(_) | Component::CurDir);
            let path = root.join(&folder);
            let is_below = || {
                Some(
                    path.canonicalize()
                        .ok()?
                        .starts_with(root.canonicalize().ok()?),
                )
            };
            if folder.components().all(is_inside) && is_below() == Some(true) {
                let mut names = Names::new(&root, to, MOST_OF_FOLDER);
                names.walk(&path, 1, 0);
            }
        });
    }

    /// Returns the next names. Folders end with a slash. It waits forever when there are no more.
    ///
    /// Cancel safety: nothing is lost.
    pub(super) async fn next(&mut self) -> Vec<String> {
        // The other end is here, too, so it does not end.
        self.found.recv().await.unwrap_or_default()
    }
}

struct Names<'r> {
    root: &'r Path,
    to: mpsc::Sender<Vec<String>>,
    piece: Vec<String>,
    left: usize,
}

impl<'r> Names<'r> {
    fn new(root: &'r Path, to: mpsc::Sender<Vec<String>>, left: usize) -> Self {
        Self {
            root,
            to,
            piece: Vec::new(),
            left,
        }
    }

    /// Adds what is below a folder, at most `deepest` levels and not the first `known`. Returns whether more is wanted.
    fn walk(&mut self, folder: &Path, deepest: usize, known: usize) -> bool {
        let mut walk = WalkBuilder::new(folder);
        let walk = walk
            .max_depth(Some(deepest))
            .require_git(false)
            .filter_entry(|entry| entry.file_name() != ".git");
        for entry in walk.build().flatten() {
            if entry.depth() > known {
                let Some(name) = name(&entry, self.root) else {
                    continue;
                };
                if self.left == 0 {
                    self.send();
                    return false;
                }
                self.left -= 1;
                self.piece.push(name);
            }
            if (self.piece.len() >= PIECE && !self.send()) || self.to.is_closed() {
                return false;
            }
        }
        // Someone may wait for the few that are here.
        self.send()
    }

    /// Delivers the names so far. Returns whether more is wanted.
    fn send(&mut self) -> bool {
        let piece = std::mem::take(&mut self.piece);
        piece.is_empty() || self.to.blocking_send(piece).is_ok()
    }
}

/// The name of an entry, if a message can mention it.
fn name(entry: &DirEntry, root: &Path) -> Option<String> {
    let path = entry.path();
    let path = path.strip_prefix(root).unwrap_or(path).to_str()?;
    let is_plain = visible_line(path) == path && !path.contains(char::is_whitespace);
    let is_folder = entry.file_type().is_some_and(|it| it.is_dir());
    let slash = if is_folder { "/" } else { "" };
    (is_plain && !path.is_empty()).then(|| format!("{path}{slash}"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Folders `d0`, `d1`, …, each with as many files.
    fn tree(folders: usize, files: usize) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for folder in 0..folders {
            let folder = root.path().join(format!("d{folder}/inner"));
            fs::create_dir_all(&folder).unwrap();
            for file in 0..files {
                fs::write(folder.join(format!("f{file}.txt")), "").unwrap();
            }
        }
        root
    }

    async fn until(listing: &mut Listing, wanted: &str) -> usize {
        let mut seen = 0;
        loop {
            let names = listing.next().await;
            seen += names.len();
            if names.iter().any(|name| name == wanted) {
                return seen;
            }
        }
    }

    #[tokio::test]
    async fn files_arrive_while_more_are_found() {
        let root = tree(40, 100);
        // What is in the folder is known before anything below.
        let mut listing = Listing::start(root.path());
        assert_eq!(listing.next().await.len(), 40);
        // No more than a few pieces are listed ahead of the one who takes them.
        let mut listing = Listing::start(root.path());
        listing.folder("d39/inner/");
        let seen = until(&mut listing, "d39/inner/f99.txt").await;
        assert!(seen <= 40 + PIECE * (WAITING + 1) + 100, "{seen}");
        // Each is listed, however many there are.
        let mut listing = Listing::start(root.path());
        let mut all = std::collections::BTreeSet::new();
        while all.len() < 40 + 40 + 4000 {
            all.extend(listing.next().await);
        }
        assert!(all.contains("d7/") && all.contains("d7/inner/f5.txt"));
    }

    #[tokio::test]
    async fn only_folders_below_are_listed() {
        let root = tree(1, 3);
        fs::write(root.path().join(".gitignore"), "hidden.txt\n").unwrap();
        fs::write(root.path().join("d0/hidden.txt"), "").unwrap();
        fs::write(root.path().join("d0/a b.txt"), "").unwrap();
        let outside = tree(1, 1);
        std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
        let mut listing = Listing::start(root.path());
        assert_eq!(listing.next().await.len(), 2);
        let mut all = Vec::new();
        for folder in ["..", "/", "link", "d0/../..", "nonesuch", "d0"] {
            listing.folder(folder);
        }
        while all.iter().filter(|it| *it == "d0/inner/").count() < 2 {
            all.extend(listing.next().await);
        }
        let known = |it: &String| it.starts_with("d0/inner/") || it == "link";
        assert!(all.iter().all(known), "{all:?}");
    }
}
