//! Decisions of the user that are remembered, in files that only their owner can read.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gadgetry_files as files;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;

use crate::error::Error;
use crate::input::unreadable;

/// Bytes of a file.
const LIMIT: u64 = 1 << 20;
/// Decisions that are remembered at most; the oldest are forgotten.
const DECISIONS: usize = 1000;

/// Decision of the user about one thing.
pub(crate) trait Decided: Serialize + DeserializeOwned {
    /// The name of the file in the user's configuration folder.
    const FILE: &str;
    /// The key of the list in it.
    const LIST: &str;
}

/// The decisions of one file.
#[derive(Debug)]
pub(crate) struct Decisions<T> {
    /// `None` without a home directory.
    path: Option<PathBuf>,
    /// The latest last.
    list: Vec<T>,
}

impl<T: Decided> Decisions<T> {
    /// Reads the decisions. `folder` is the user's configuration folder.
    pub(crate) fn load(folder: Option<&Path>) -> Result<Self, Error> {
        let path = folder.map(|folder| folder.join(T::FILE));
        let list = match &path {
            Some(path) => read(path).map_err(|error| unreadable(path.display(), &error))?,
            None => Vec::new(),
        };
        Ok(Self { path, list })
    }

    /// The decisions, the latest last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.list.iter()
    }

    /// Removes the decisions that `is_old` selects and adds `new`, also in the file.
    ///
    /// The file is read again for it: another process may have changed it since it was loaded, and a decision that was
    /// revoked there stays revoked.
    pub(crate) fn replace(
        &mut self,
        is_old: impl Fn(&T) -> bool,
        new: Option<T>,
    ) -> io::Result<()> {
        let no_home = || io::Error::other("no home directory in the environment");
        let path = self.path.as_ref().ok_or_else(no_home)?;
        let folder = path.parent().unwrap_or(path);
        files::create_private_folder(folder)?;
        let _lock = lock(path)?;
        self.list = read(path)?;
        self.list.retain(|decision| !is_old(decision));
        self.list.extend(new);
        let forgotten = self.list.len().saturating_sub(DECISIONS);
        self.list.drain(..forgotten);
        // Such a file has mode 0600.
        let mut file = NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, &BTreeMap::from([(T::LIST, &self.list)]))?;
        file.flush()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// The decisions in a file; none if it is not there.
fn read<T: Decided>(path: &Path) -> io::Result<Vec<T>> {
    let text = match files::text(path, LIMIT) {
        Ok(text) => text,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let damaged = |why: &dyn Display| {
        let words = format!("{why}; remove the file, and decide again");
        io::Error::new(io::ErrorKind::InvalidData, words)
    };
    let lists = serde_json::from_str::<BTreeMap<String, Vec<T>>>(&text);
    let mut lists = lists.map_err(|error| damaged(&error))?;
    let list = lists.remove(T::LIST).unwrap_or_default();
    match lists.keys().next() {
        None => Ok(list),
        Some(key) => Err(damaged(&format_args!("unknown key {key:?}"))),
    }
}

/// Waits until no other process replaces the file.
fn lock(path: &Path) -> io::Result<File> {
    let file = files::append_private(&path.with_extension("lock"))?;
    if let Err(error) = file.lock() {
        // Some file systems have no locks. Without one, the last of two decisions at the same moment is kept.
        tracing::debug!("{}: {error}", path.display());
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde::Deserialize;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Kept(u32);

    impl Decided for Kept {
        const FILE: &str = "kept.json";
        const LIST: &str = "kept";
    }

    fn load(folder: &Path) -> Decisions<Kept> {
        Decisions::load(Some(folder)).expect("decisions")
    }

    fn list(folder: &Path) -> Vec<u32> {
        load(folder).iter().map(|it| it.0).collect()
    }

    #[test]
    fn decisions_of_another_process_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let mut one = load(folder);
        one.replace(|_| false, Some(Kept(1))).expect("written");
        let mut other = load(folder);
        one.replace(|it| it.0 == 1, None).expect("written");
        other.replace(|_| false, Some(Kept(2))).expect("written");
        assert_eq!(list(folder), [2], "a revoked decision came back");
        one.replace(|it| it.0 == 3, Some(Kept(3))).expect("written");
        one.replace(|it| it.0 == 3, Some(Kept(3))).expect("written");
        assert_eq!(list(folder), [2, 3]);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let all: Vec<u32> = (0..).take(DECISIONS).collect();
        let text = serde_json::json!({ "kept": all }).to_string();
        fs::write(folder.path().join(Kept::FILE), text).expect("a file");
        let mut decisions = load(folder.path());
        decisions
            .replace(|_| false, Some(Kept(7)))
            .expect("written");
        assert_eq!(list(folder.path()), [&all[1..], &[7]].concat());
    }

    #[test]
    fn damaged_files() {
        let folder = tempfile::tempdir().expect("a folder");
        for (text, part) in [
            ("", "EOF while parsing"),
            ("[]", "invalid type"),
            ("{\"kept\": 1}", "invalid type"),
            ("{\"kept\": [], \"more\": []}", "unknown key \"more\""),
        ] {
            fs::write(folder.path().join(Kept::FILE), text).expect("a file");
            let loaded = Decisions::<Kept>::load(Some(folder.path()));
            let words = loaded.expect_err(text).to_string();
            assert!(words.contains(part), "{words}");
            assert!(
                words.ends_with("remove the file, and decide again"),
                "{words}"
            );
        }
    }
}
