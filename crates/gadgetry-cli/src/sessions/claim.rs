//! Rights to sessions, as locks that end with the process: to begin one, for which the second process waits, and to continue
//! one, which the second process cannot until the first has left it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::cli::SessionName;
use crate::error::Error;

/// The file that a process locks while it begins or opens a session.
const BEGINNING: &str = "begin.lock";
/// Ends the name of the file that is locked as long as a session is open.
const OPEN: &str = "open";
/// Maximum wait for the other process, which has only to write the beginning of its session.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum wait for a session: a process that was killed while it started a program leaves its locks to that one for a moment.
const MOMENT: Duration = Duration::from_millis(500);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(20);

/// The right to begin a session. Drop it when the session's first run has begun.
#[derive(Debug)]
pub(crate) struct Claim {
    /// Locked, until it is closed; `None` where there are no locks.
    _file: Option<File>,
    folder: PathBuf,
}

impl Claim {
    /// Waits for the right, by a lock on a file in this folder, which is made if it is not there.
    pub(super) async fn on(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(BEGINNING);
        let failed = |error: io::Error| Error::at(path.display(), error);
        let file = opened(&path).map_err(failed)?;
        match locked(&file, PATIENCE).await {
            Locked::Yes => Ok(Self::of(Some(file), folder)),
            Locked::Never => Ok(Self::of(None, folder)),
            Locked::ByOther => {
                let words = "another process is beginning a session; try again";
                Err(Error::at(path.display(), words))
            }
        }
    }

    fn of(file: Option<File>, folder: &Path) -> Self {
        Self {
            _file: file,
            folder: folder.to_owned(),
        }
    }

    /// Opens the session, unless another process has it open.
    pub(super) async fn hold(&self, name: &SessionName) -> Result<Hold, Error> {
        let path = self.folder.join(format!("{name}.{OPEN}"));
        let failed = |error: io::Error| Error::at(path.display(), error);
        let mut file = opened(&path).map_err(failed)?;
        if let Locked::ByOther = locked(&file, MOMENT).await {
            // A system where a lock prevents reading names no process.
            let process = fs::read_to_string(&path).unwrap_or_default();
            let process = match process.trim() {
                "" => String::new(),
                id => format!(" (process {id})"),
            };
            return Err(Error::input(format_args!(
                "session {name} is in progress in another process{process}; leave it there, or begin another session"
            )));
        }
        // The number only explains a refusal.
        let _ = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{}", process::id()));
        Ok(Hold { _file: file, path })
    }
}

/// The right to continue a session. Drop it when the session is left.
#[derive(Debug)]
pub(crate) struct Hold {
    /// Locked, until it is closed.
    _file: File,
    path: PathBuf,
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Not while another process is between opening the file and locking it. A file that stays harms no one.
        let beginning = opened(&self.path.with_file_name(BEGINNING));
        if beginning.is_ok_and(|it| it.try_lock().is_ok() && fs::remove_file(&self.path).is_ok()) {
            tracing::debug!("{}: left", self.path.display());
        }
    }
}

fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).open(path)
}

/// Result of an attempt to lock a file.
enum Locked {
    Yes,
    ByOther,
    /// Some file systems have no locks.
    Never,
}

async fn locked(file: &File, patience: Duration) -> Locked {
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Locked::Yes,
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(PAUSE).await,
            Err(TryLockError::WouldBlock) => return Locked::ByOther,
            Err(TryLockError::Error(_)) => return Locked::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_second_waits_for_the_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = Claim::on(folder.path()).await.expect("the right");
        let second = Claim::on(folder.path());
        tokio::pin!(second);
        assert!(futures_util::poll!(&mut second).is_pending());
        drop(first);
        second.await.expect("the right");
    }

    #[tokio::test]
    async fn a_session_is_open_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let name: SessionName = "day".parse().expect("a name");
        let hold = async || {
            let claim = Claim::on(folder.path()).await.expect("the right");
            claim.hold(&name).await
        };
        let first = hold().await.expect("free");
        let error = hold().await.expect_err("it is open").to_string();
        let expected = format!(
            "session day is in progress in another process (process {}); leave it there, or begin another session",
            process::id()
        );
        assert_eq!(error, expected);
        drop(first);
        assert!(!folder.path().join("day.open").exists());
        // The file of a process that was killed.
        fs::write(folder.path().join("day.open"), "1\n").expect("a file");
        hold().await.expect("free");
    }
}
