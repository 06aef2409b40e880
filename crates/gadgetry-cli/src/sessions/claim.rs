//! The right to begin a session of a name: of two processes that begin one at once, the second waits, and then finds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::Error;

/// Maximum wait for the other process, which has only to write the beginning of its session.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// The right to begin a session. Drop it when the session's first run has begun.
#[derive(Debug)]
pub(crate) struct Claim {
    /// Locked, until it is closed.
    _file: Option<File>,
}

impl Claim {
    /// For a session whose name no one else has.
    pub(super) fn none() -> Self {
        Self { _file: None }
    }

    /// Waits for the right, by a lock on this file, which is made if it is not there.
    pub(super) async fn on(path: &Path) -> Result<Self, Error> {
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).open(path);
        let file = file.map_err(|error| Error::at(path.display(), error))?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: Some(file) }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(PAUSE).await,
                Err(TryLockError::WouldBlock) => {
                    let words = "another process is beginning a session; try again";
                    return Err(Error::at(path.display(), words));
                }
                // Some file systems have no locks.
                Err(TryLockError::Error(_)) => return Ok(Self::none()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_second_waits_for_the_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("begin.lock");
        let first = Claim::on(&path).await.expect("the right");
        let second = Claim::on(&path);
        tokio::pin!(second);
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        second.await.expect("the right");
    }
}
