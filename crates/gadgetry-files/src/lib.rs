//! Files that others wrote, read within a cap, and files that only their owner can read. For the crates of this workspace; no part
//! of the stable interface.
//!
//! A folder that was cloned may hold a `gadgets.toml` that is a link to `/dev/zero`, or a named pipe into which no process
//! writes. Neither may take all memory, or wait forever.

#[cfg(feature = "toml")]
pub mod toml_text;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, ErrorKind, Read};
use std::path::Path;

/// Opens a file, or a pipe that is open already, such as `/dev/stdin` or `/dev/fd/63`.
///
/// # Errors
/// If it cannot be opened, or is a device or a named pipe.
pub fn open(path: &Path) -> io::Result<File> {
    let is_open_already = ["/dev/fd/", "/dev/stdin", "/proc/self/fd/"]
        .iter()
        .any(|start| path.to_str().is_some_and(|path| path.starts_with(start)));
    // A folder can be opened; to read it fails with the system's own words.
    if is_open_already {
        return File::open(path);
    }
    let found = path.metadata()?;
    if found.is_file() || found.is_dir() {
        return File::open(path);
    }
    let words = "it is not a regular file";
    Err(io::Error::new(ErrorKind::InvalidInput, words))
}

/// The bytes of a file.
///
/// # Errors
/// As [`open`], and if it has more than `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// The text of a file.
///
/// # Errors
/// As [`read`], and if it is not UTF-8.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    let words = |_| io::Error::new(ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(read(path, limit)?).map_err(words)
}

/// Appends the next line, with its line break, to `line`, and returns its length; 0 at the end.
///
/// # Errors
/// If it cannot be read, or is longer than `limit` bytes.
pub fn line(source: &mut impl BufRead, line: &mut Vec<u8>, limit: u64) -> io::Result<usize> {
    let read = source.by_ref().take(limit + 1).read_until(b'\n', line)?;
    if read as u64 > limit {
        let words = format!("a line is longer than {} MiB", limit >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, words));
    }
    Ok(read)
}

/// The error about more than `limit` bytes.
#[must_use]
pub fn too_large(limit: u64) -> io::Error {
    let words = format!("it is larger than {} MiB", limit >> 20);
    io::Error::new(ErrorKind::FileTooLarge, words)
}

/// Creates a folder, and those above it, with mode 0700. One that is there stays as it is.
///
/// # Errors
/// If it cannot be created.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens a file to append to it. It is created with mode 0600 if it is not there.
///
/// # Errors
/// If it cannot be opened.
pub fn append_private(path: &Path) -> io::Result<File> {
    private_options().append(true).create(true).open(path)
}

/// Creates a file with mode 0600.
///
/// # Errors
/// If it is there already, or cannot be created.
pub fn create_private(path: &Path) -> io::Result<File> {
    private_options().write(true).create_new(true).open(path)
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_within_a_cap() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f");
        std::fs::write(&file, "four").unwrap();
        assert_eq!(text(&file, 4).unwrap(), "four");
        let words = |error: io::Error| error.to_string();
        assert_eq!(
            read(&file, 3).map_err(words).unwrap_err(),
            "it is larger than 0 MiB"
        );
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let error = read(&pipe, 1 << 20).map_err(words);
        assert_eq!(error.unwrap_err(), "it is not a regular file");
        assert!(read(folder.path(), 1 << 20).is_err());
        assert!(read(&folder.path().join("none"), 1 << 20).is_err());
        std::fs::write(&file, b"\xff").unwrap();
        assert_eq!(
            text(&file, 4).map_err(words).unwrap_err(),
            "it is not UTF-8 text"
        );
    }

    #[test]
    fn lines_are_read_within_a_cap() {
        let mut source: &[u8] = b"ab\ncde\nf";
        let mut all = Vec::new();
        assert_eq!(line(&mut source, &mut all, 3).unwrap(), 3);
        assert!(line(&mut source, &mut all, 3).is_err());
    }
}
