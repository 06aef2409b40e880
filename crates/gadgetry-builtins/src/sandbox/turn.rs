//! The order of commands of this program whose workspaces overlap, and what they leave to each other.
//!
//! Of two commands at a time, one could take what the other makes for what was there before.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{MemfdFlags, memfd_create};
use tokio::sync::Notify;

use super::repositories::LEFT;

/// Workspaces in which a command runs.
static RUNNING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Notified when a command has ended.
static ENDED: Notify = Notify::const_new();

/// The right to run a command in a workspace. Others in it, in a folder of it, or in one that it is in, wait.
#[derive(Debug)]
pub(crate) struct Turn(PathBuf);

impl Turn {
    /// Waits for it. Cancel safe.
    pub(crate) async fn of(workspace: &Path) -> Self {
        loop {
            let ended = ENDED.notified();
            {
                let mut running = locked(&RUNNING);
                if !running.iter().any(|other| overlap(other, workspace)) {
                    running.push(workspace.to_owned());
                    return Self(workspace.to_owned());
                }
            }
            ended.await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut running = locked(&RUNNING);
        if let Some(at) = running.iter().position(|it| *it == self.0) {
            running.swap_remove(at);
        }
        ENDED.notify_waiters();
    }
}

fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what the commands of a workspace leave to each other, for as long as this program runs.
///
/// # Errors
///
/// If one of another workspace, which overlaps with it, has left something.
pub(super) fn memory_of(workspace: &Path) -> io::Result<File> {
    static ALL: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());
    let mut all = locked(&ALL);
    for (other, memory) in &*all {
        if other != workspace && overlap(other, workspace) && memory.metadata()?.len() > 0 {
            let other = other.display();
            return Err(io::Error::other(format!("in {other}, {LEFT}")));
        }
    }
    if let Some(memory) = all.get(workspace) {
        return memory.try_clone();
    }
    let memory = new_memory()?;
    all.insert(workspace.to_owned(), memory.try_clone()?);
    Ok(memory)
}

/// A file without a name, which no command can open.
pub(super) fn new_memory() -> io::Result<File> {
    Ok(memfd_create("gadgetry-sandbox", MemfdFlags::CLOEXEC)?.into())
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::io::Write as _;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn workspaces_that_overlap_wait_for_each_other() {
        let mut context = Context::from_waker(Waker::noop());
        let mut check = |one: &str, other: &str, waits: bool| {
            let [one, other] = [Path::new(one), Path::new(other)];
            let Poll::Ready(first) = pin!(Turn::of(one)).poll(&mut context) else {
                panic!("{one:?} waits for nothing");
            };
            let mut second = pin!(Turn::of(other));
            assert_eq!(second.as_mut().poll(&mut context).is_pending(), waits);
            drop(first);
            if waits {
                assert!(second.as_mut().poll(&mut context).is_ready());
            }
        };
        check("/turns/a", "/turns/a", true);
        check("/turns/a", "/turns/a/b", true);
        check("/turns/a/b", "/turns/a", true);
        check("/turns/a", "/turns/ab", false);
        check("/turns/a/b", "/turns/a/c", false);
    }

    #[test]
    fn what_is_left_counts_in_workspaces_that_overlap() {
        let memory = |path: &str| memory_of(Path::new(path));
        let mut inner = memory("/memories/a/b").unwrap();
        assert!(memory("/memories/a").is_ok());
        inner.write_all(b"x").unwrap();
        assert_eq!(
            memory("/memories/a/b").unwrap().metadata().unwrap().len(),
            1
        );
        assert!(memory("/memories/a").is_err() && memory("/memories/a/b/c").is_err());
        assert!(memory("/memories/a/c").is_ok());
    }
}
