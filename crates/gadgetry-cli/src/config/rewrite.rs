//! Changes of the user's configuration file: a rule to keep, a server, the settings of a model.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use gadgetry_files as files;

/// Bytes of a configuration file. A larger one would not be read.
const LIMIT: u64 = super::value::LIMIT;

/// The longest wait for another process that changes the file. A change takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Replaces the text of a file, which is created if it is not there, by what `change` makes of it. Of several processes, one after the
/// other does so, or the change of one would be lost.
///
/// `Err` is what is wrong, in one line.
pub(super) fn rewrite<T>(
    path: &Path,
    change: impl FnOnce(&str) -> Result<(String, T), String>,
) -> Result<T, String> {
    let cannot_write = |error: io::Error| format!("cannot write {}: {error}", path.display());
    let target = target(path).map_err(cannot_write)?;
    let folder = target.parent().unwrap_or(Path::new(""));
    files::create_private_folder(folder).map_err(cannot_write)?;
    let _turn = turn(folder).map_err(cannot_write)?;
    let before = read(path)?;
    let (after, result) =
        change(&before).map_err(|error| format!("{}: {error}", path.display()))?;
    if after != before {
        replace(&target, &after).map_err(cannot_write)?;
    }
    Ok(result)
}

/// The text of a file; empty if it is not there.
pub(super) fn read(path: &Path) -> Result<String, String> {
    match files::text(path, LIMIT) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
    }
}

/// Resolves a path. A link, as to a folder of dotfiles, stays one, and a device, as `/dev/null`, is not replaced.
fn target(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(target) if target.is_file() => Ok(target),
        Ok(_) => Err(io::Error::other("it is not a regular file")),
        Err(_) if fs::symlink_metadata(path).is_ok_and(|it| it.is_symlink()) => {
            Err(io::Error::other("it is a link that leads nowhere"))
        }
        // It is not there, or another process has just created it.
        Err(_) => Ok(path.to_owned()),
    }
}

/// Waits until no other process changes files in a folder.
fn turn(folder: &Path) -> io::Result<Option<File>> {
    // Elsewhere a folder cannot be opened.
    if !cfg!(unix) {
        return Ok(None);
    }
    let current = Path::new(".");
    let is_current = folder.as_os_str().is_empty();
    let folder = File::open(if is_current { current } else { folder })?;
    // A lock has no timeout. The thread ends with the program if another process never gives its own up.
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // A file system may have no locks.
        let locked = folder.lock().is_ok();
        let _ = sender.send(locked.then_some(folder));
    });
    receiver
        .recv_timeout(PATIENCE)
        .map_err(|_| io::Error::other("another process is changing files in its folder; try again"))
}

/// Replaces a file at once, with its permissions.
fn replace(target: &Path, text: &str) -> io::Result<()> {
    if text.len() as u64 > LIMIT {
        let message = format!("it would be larger than {} MiB", LIMIT >> 20);
        return Err(io::Error::other(message));
    }
    let folder = target.parent().unwrap_or(Path::new(""));
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    if let Ok(before) = fs::metadata(target) {
        new.as_file().set_permissions(before.permissions())?;
    }
    new.persist(target).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(path: &Path, more: &str) -> Result<(), String> {
        rewrite(path, |text| Ok((format!("{text}{more}"), ())))
    }

    #[test]
    fn changes_are_not_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/config.toml");
        thread::scope(|scope| {
            for number in 0..20 {
                let path = &path;
                scope.spawn(move || append(path, &format!("# {number}\n")).expect("it is written"));
            }
        });
        let lines = read(&path).expect("a file").lines().count();
        assert_eq!(lines, 20);
    }

    #[cfg(unix)]
    #[test]
    fn only_a_regular_file_is_replaced() {
        use std::os::unix::fs::{FileTypeExt as _, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let check = |name: &str, expected: Result<(), &str>| {
            let done = append(&at(name), "x");
            let is_right = match (&done, expected) {
                (Ok(()), Ok(())) => true,
                (Err(error), Err(expected)) => error.ends_with(expected),
                _ => false,
            };
            assert!(is_right, "{name}: {done:?}");
        };
        fs::write(at("kept"), "").expect("a file");
        symlink("kept", at("link")).expect("a link");
        symlink("nowhere", at("dangling")).expect("a link");
        // A socket is a special file that needs no rights.
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
        symlink("socket", at("special")).expect("a link");
        check("link", Ok(()));
        check("dangling", Err("it is a link that leads nowhere"));
        check("special", Err("it is not a regular file"));
        check("socket", Err("it is not a regular file"));
        assert!(at("link").is_symlink() && at("special").is_symlink());
        assert_eq!(fs::read_to_string(at("kept")).expect("a file"), "x");
        assert!(fs::metadata(at("socket")).is_ok_and(|it| it.file_type().is_socket()));
        fs::write(at("large"), "x".repeat(1 << 20)).expect("a file");
        check("large", Err("it would be larger than 1 MiB"));
        assert!(fs::metadata(at("large")).is_ok_and(|it| it.len() == 1 << 20));
    }
}
