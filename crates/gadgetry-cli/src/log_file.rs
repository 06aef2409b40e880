//! The file of `--save`: readable by its owner only, and overwriting nothing but an earlier log.

use std::fmt::Display;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::path::Path;

use gadgetry::CommandGadget;
use gadgetry::log::{LogHeader, LogWriter, is_log};

use crate::error::Error;

/// Bytes at the beginning of a file that show whether it is a log.
const BEGINNING: u64 = 64;

/// A file that a log must not take the place of, with what the run does to it.
pub(crate) struct InUse {
    name: String,
    use_: &'static str,
    data: Metadata,
}

impl InUse {
    /// Lists the files of a run: files that are read, gadgets' programs, arguments that are files, and the streams.
    pub(crate) fn by<'a>(
        inputs: impl IntoIterator<Item = &'a Path>,
        gadgets: &'a [CommandGadget],
    ) -> Vec<Self> {
        let input = |path: &Path| {
            let data = fs::metadata(path).ok()?;
            let name = path.display().to_string();
            let use_ = "the run is made from";
            Some(Self { name, use_, data })
        };
        let programs = gadgets.iter().flat_map(|gadget| {
            let arguments = gadget.arguments().iter().map(Path::new);
            arguments.chain([gadget.program()])
        });
        let files = inputs.into_iter().chain(programs).filter_map(input);
        files.chain(streams()).collect()
    }
}

/// Writes the beginning of a log to the file that [`create`] has made.
pub(crate) fn begin(file: File, path: &Path, header: &LogHeader) -> Result<LogWriter<File>, Error> {
    LogWriter::new(file, header).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &dyn Display) -> Error {
    Error::input(format_args!("cannot write {}: {error}", path.display()))
}

/// Creates the file of a log. An existing file that is not a log is left unchanged.
pub(crate) fn create(path: &Path, in_use: &[InUse]) -> Result<File, Error> {
    let unwritable = |error: &dyn Display| unwritable(path, error);
    let mut file = open(path).map_err(|error| unwritable(&error))?;
    let data = file.metadata().map_err(|error| unwritable(&error))?;
    refuse_to_overwrite(path, &mut file, &data, in_use)?;
    keep_private(&file, &data).map_err(|error| unwritable(&error))?;
    let emptied = file.set_len(0).and_then(|()| file.rewind());
    emptied.map_err(|error| unwritable(&error))?;
    Ok(file)
}

fn refuse_to_overwrite(
    path: &Path,
    file: &mut File,
    data: &Metadata,
    in_use: &[InUse],
) -> Result<(), Error> {
    let path = path.display();
    if !data.is_file() {
        return Err(Error::input(format_args!(
            "cannot write {path}: a log is a regular file, not a pipe or a device"
        )));
    }
    if let Some(other) = in_use.iter().find(|other| is_same(&other.data, data)) {
        let InUse { name, use_, .. } = other;
        return Err(Error::input(format_args!(
            "--save would overwrite {name}, which {use_}; name another file"
        )));
    }
    let mut beginning = Vec::new();
    file.take(BEGINNING)
        .read_to_end(&mut beginning)
        .map_err(|error| Error::input(format_args!("cannot read {path}: {error}")))?;
    if beginning.is_empty() || is_log(&beginning) {
        Ok(())
    } else {
        Err(Error::input(format_args!(
            "{path} is not a gadgetry log, so --save does not overwrite it; delete it or name another file"
        )))
    }
}

#[cfg(unix)]
use unix::{is_same, keep_private, open, streams};

#[cfg(unix)]
mod unix {
    use std::fs::Permissions;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};

    use rustix::fs::OFlags;
    use rustix::io::Errno;

    use super::{File, InUse, Metadata, OpenOptions, Path, io};

    /// Read and written by the owner.
    const PRIVATE: u32 = 0o600;

    /// Returns whether both are one file, whatever its names and the links to it.
    pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }

    /// Opens or makes it, without following a link and without waiting for the other end of a pipe.
    pub(super) fn open(path: &Path) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options
            .mode(PRIVATE)
            .custom_flags(flags.bits().cast_signed());
        options.open(path).map_err(|error| {
            if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
                io::Error::other("it is a symbolic link; name the file itself")
            } else {
                error
            }
        })
    }

    /// An earlier log may have been readable for others.
    pub(super) fn keep_private(file: &File, data: &Metadata) -> io::Result<()> {
        if data.mode() & 0o777 == PRIVATE {
            return Ok(());
        }
        file.set_permissions(Permissions::from_mode(PRIVATE))
    }

    /// Files that stdin, stdout and stderr are redirected to.
    pub(super) fn streams() -> impl Iterator<Item = InUse> {
        let read = stream(io::stdin(), "the file on stdin", "the run is made from");
        let out = stream(io::stdout(), "the file on stdout", "the run writes");
        let err = stream(io::stderr(), "the file on stderr", "the run writes");
        [read, out, err].into_iter().flatten()
    }

    fn stream(stream: impl AsFd, name: &str, use_: &'static str) -> Option<InUse> {
        let own = stream.as_fd().try_clone_to_owned().ok()?;
        let data = File::from(own).metadata().ok()?;
        let name = name.to_owned();
        Some(InUse { name, use_, data })
    }
}

#[cfg(not(unix))]
use other::{is_same, keep_private, open, streams};

#[cfg(not(unix))]
mod other {
    use super::{File, InUse, Metadata, OpenOptions, Path, io};

    /// Not available from metadata. Other files are protected because they are not logs.
    pub(super) fn is_same(_: &Metadata, _: &Metadata) -> bool {
        false
    }

    pub(super) fn open(path: &Path) -> io::Result<File> {
        if path.is_symlink() {
            let problem = "it is a symbolic link; name the file itself";
            return Err(io::Error::other(problem));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        options.open(path)
    }

    pub(super) fn keep_private(_: &File, _: &Metadata) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn streams() -> impl Iterator<Item = InUse> {
        std::iter::empty()
    }
}
