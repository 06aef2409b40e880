//! Who drives a run: one owner at a time.
//!
//! An owner has a lease, which its writer thread renews. It also has a locked file as long as it lives, so that others see
//! at once when it has died, and need not wait for the end of the lease: the system releases the lock with the process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gadgetry::journal::{JournalError, RunId};
use gadgetry_files as files;

/// Time for which an owner that does not renew its lease keeps its runs.
pub(crate) const LEASE: Duration = Duration::from_secs(30);

/// Ends the name of a file that is not locked yet.
const NEW: &str = ".new";

/// Maximum time for which a copy of a process that is gone keeps its lock.
const FORKED: Duration = Duration::from_secs(2);

/// Time between two renewals of a lease.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(5);

/// An owner, alive as long as this exists.
#[derive(Debug)]
pub(crate) struct Owner {
    /// Name in the table: `pid-random`.
    pub(crate) name: String,
    path: PathBuf,
    /// The file at `path`, locked as long as the owner is alive.
    _file: File,
}

impl Owner {
    /// A new owner of runs in the file `journal`.
    pub(crate) fn new(journal: &Path) -> std::io::Result<Self> {
        let random =
            std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), SystemTime::now());
        let name = format!("{}-{random:016x}", std::process::id());
        let path = lock_path(journal, &name);
        let new = lock_path(journal, &format!("{name}{NEW}"));
        let file = files::create_private(&new)?;
        // A file system without locks has the lease.
        if let Err(TryLockError::Error(error)) = file.try_lock() {
            tracing::debug!("{}: {error}", path.display());
        }
        // It gets its name when it is locked: an unlocked one is that of an owner that has died.
        fs::rename(&new, &path)?;
        Ok(Self {
            name,
            path,
            _file: file,
        })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // A file that stays is removed by the next owner of its runs.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns whether the owner with this name has died, and removes its file then.
///
/// A name that is not one of [`Owner::new`] is of no process: with `/` in it, it would lead to another file. Neither is what is not a file: to
/// open a pipe takes forever.
pub(crate) fn has_died(journal: &Path, name: &str) -> bool {
    if !is_name(name) {
        return true;
    }
    let path = lock_path(journal, name);
    if fs::symlink_metadata(&path).is_ok_and(|it| !it.is_file()) {
        return true;
    }
    let Ok(file) = OpenOptions::new().write(true).open(&path) else {
        return !path.exists();
    };
    let is_free = file.try_lock().is_ok();
    if is_free {
        let _ = fs::remove_file(&path);
    }
    is_free
}

/// [`has_died`] for a process that may have ended just now.
///
/// If it was killed while it started a program, its copy holds the lock until that program begins: moments, and longer on a
/// busy machine. Of a process that is gone, the lock is waited for.
#[expect(
    clippy::disallowed_methods,
    reason = "waits for a process that is not a child"
)]
fn has_just_died(journal: &Path, name: &str) -> bool {
    let is_gone = || {
        let pid = name.split('-').next().unwrap_or(name);
        let processes = Path::new("/proc");
        processes.join("self").exists() && !processes.join(pid).exists()
    };
    let began = Instant::now();
    while !has_died(journal, name) {
        if began.elapsed() > FORKED || !is_gone() {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Returns whether a name is that of an owner: `pid-random`.
fn is_name(name: &str) -> bool {
    name.split_once('-').is_some_and(|(pid, random)| {
        let digits = |text: &str, is_digit: fn(&u8) -> bool| {
            !text.is_empty() && text.bytes().all(|it| is_digit(&it))
        };
        digits(pid, u8::is_ascii_digit) && digits(random, u8::is_ascii_hexdigit)
    })
}

/// Fails if the run has an owner that is alive.
pub(crate) fn refuse_if_alive(
    path: &Path,
    id: &RunId,
    owner: &str,
    lease_ms: i64,
) -> Result<(), JournalError> {
    if lease_ms < now_ms() || has_just_died(path, owner) {
        return Ok(());
    }
    let pid = owner.split('-').next().unwrap_or(owner);
    Err(JournalError::Owned {
        run: id.clone(),
        owner: format!("process {pid}"),
    })
}

/// Removes the files of owners that have died.
pub(crate) fn sweep(journal: &Path) {
    let Some(prefix) = lock_path(journal, "").file_name().map(ToOwned::to_owned) else {
        return;
    };
    let folder = journal.parent().filter(|it| !it.as_os_str().is_empty());
    let Ok(files) = fs::read_dir(folder.unwrap_or(Path::new("."))) else {
        return;
    };
    for file in files.flatten() {
        let name = file.file_name();
        let (name, prefix) = (name.to_string_lossy(), prefix.to_string_lossy());
        if let Some(owner) = name.strip_prefix(&*prefix) {
            has_died(journal, owner);
        }
    }
}

fn lock_path(journal: &Path, name: &str) -> PathBuf {
    let mut path = journal.as_os_str().to_owned();
    path.push(".owner-");
    path.push(name);
    path.into()
}

/// The time of day, in milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX))
}
