//! The standard input of a program, complete before it starts.
//!
//! Through a pipe, a program would run with only part of its input if this process ended between the start and the last byte.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::process::Stdio;

/// Returns `content` as a stream to read.
pub(super) fn complete(content: &[u8]) -> io::Result<Stdio> {
    let mut file = file()?;
    file.write_all(content)?;
    file.rewind()?;
    seal(&file)?;
    Ok(file.into())
}

/// A file in memory, so that parameters reach no disk.
#[cfg(target_os = "linux")]
fn file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    Ok(memfd_create("parameters", flags)?.into())
}

#[cfg(target_os = "linux")]
fn seal(file: &File) -> io::Result<()> {
    use rustix::fs::{SealFlags, fcntl_add_seals};
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    Ok(fcntl_add_seals(file, seals)?)
}

/// A file without a name, readable by no other user.
#[cfg(not(target_os = "linux"))]
fn file() -> io::Result<File> {
    tempfile::tempfile()
}

#[cfg(not(target_os = "linux"))]
fn seal(_file: &File) -> io::Result<()> {
    Ok(())
}
