//! What one process of the sandbox leaves to the next one in the same workspace.
//!
//! It is empty, or has the repositories that were there before a command, as long as it is unknown what the command has left. So a
//! process that was killed, or could not disarm everything, leaves the next one something to do before its own command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Repositories, Way};
use crate::workspace::repository::Identity;

/// A file without a name, which is stdin of the processes of a workspace. A command has no way to it.
#[derive(Debug)]
pub(in crate::sandbox) struct Memory(File);

impl Memory {
    /// Takes it, after the process that has it now.
    pub(in crate::sandbox) fn take() -> io::Result<Self> {
        // Opened again: a lock would be shared by all that have inherited the file.
        let mut options = File::options();
        let file = options.read(true).write(true).open("/proc/self/fd/0")?;
        file.lock()?;
        Ok(Self(file))
    }

    /// Returns the repositories that were there before a command of which it is unknown what it has left.
    pub(in crate::sandbox) fn recall(&mut self, root: &Path) -> io::Result<Option<Repositories>> {
        let mut bytes = Vec::new();
        self.0.rewind()?;
        self.0.read_to_end(&mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let kept: Kept = serde_json::from_slice(&bytes)?;
        Ok(Some(kept.into_repositories(root)))
    }

    /// Keeps repositories until [`Self::forget`].
    pub(in crate::sandbox) fn keep(&mut self, before: &Repositories) -> io::Result<()> {
        self.forget()?;
        self.0.rewind()?;
        self.0.write_all(&serde_json::to_vec(&Kept::of(before))?)
    }

    /// The last command has left no repository.
    pub(in crate::sandbox) fn forget(&mut self) -> io::Result<()> {
        self.0.set_len(0)
    }
}

/// The identity of an entry, and the target of a link.
type KeptWay = (Identity, Option<OsString>);

/// Repositories in a form that JSON has: paths need not be text, and keys are.
#[derive(Serialize, Deserialize)]
struct Kept {
    protected: Vec<(OsString, Identity)>,
    known: Vec<(Identity, OsString)>,
    ways: Vec<(OsString, Option<KeptWay>)>,
    closed: Vec<(Identity, u32)>,
}

impl Kept {
    fn of(all: &Repositories) -> Self {
        let name = |path: &PathBuf| path.clone().into_os_string();
        let way = |way: &Way| (way.identity, way.link.as_ref().map(name));
        Self {
            protected: all.protected.iter().map(|(p, i)| (name(p), *i)).collect(),
            known: all.known.iter().map(|(i, p)| (*i, name(p))).collect(),
            ways: (all.ways.iter())
                .map(|(path, found)| (name(path), found.as_ref().map(way)))
                .collect(),
            closed: all.closed.iter().map(|(i, mode)| (*i, *mode)).collect(),
        }
    }

    fn into_repositories(self, root: &Path) -> Repositories {
        let way = |(identity, link): KeptWay| Way {
            identity,
            link: link.map(PathBuf::from),
        };
        let ways = self.ways.into_iter();
        let known: BTreeMap<Identity, PathBuf> =
            self.known.into_iter().map(|(i, p)| (i, p.into())).collect();
        Repositories {
            root: root.to_owned(),
            protected: (self.protected.into_iter())
                .map(|(path, identity)| (path.into(), identity))
                .collect(),
            known,
            ways: ways
                .map(|(path, found)| (path.into(), found.map(way)))
                .collect(),
            closed: self.closed.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn what_was_kept_is_recalled() {
        let mut memory = Memory(tempfile::tempfile().unwrap());
        let root = Path::new("/work");
        assert_eq!(memory.recall(root).unwrap(), None);
        let odd = PathBuf::from(OsString::from_vec(b"h\xe4/x".to_vec()));
        let link = Way {
            identity: (1, 4),
            link: Some(odd.clone()),
        };
        let all = Repositories {
            root: root.to_owned(),
            protected: BTreeMap::from([(odd.clone(), (1, 2))]),
            known: BTreeMap::from([((1, 3), odd)]),
            ways: BTreeMap::from([("a".into(), None), ("b".into(), Some(link))]),
            closed: BTreeMap::from([((1, 5), 0o333)]),
        };
        memory.keep(&Repositories::default()).unwrap();
        memory.keep(&all).unwrap();
        assert_eq!(memory.recall(root).unwrap(), Some(all));
        // Cut off, it is not taken for nothing.
        memory.0.set_len(20).unwrap();
        assert!(memory.recall(root).is_err());
        memory.forget().unwrap();
        assert_eq!(memory.recall(root).unwrap(), None);
    }
}
