//! `gadgetry init`: a configuration file to start with.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use gadgetry_files as files;
use tempfile::NamedTempFile;

use crate::cli::InitArgs;
use crate::config::{PROJECT_FILE, USER_FILE};
use crate::data_dir;
use crate::error::Error;
use crate::printer::Printer;

/// The file, in which every line is a comment.
const STARTER: &str = include_str!("starter.toml");

/// Runs the command.
pub(crate) fn run(args: &InitArgs, printer: &Printer) -> Result<(), Error> {
    let path = if args.project {
        PathBuf::from(PROJECT_FILE)
    } else {
        let folder = data_dir::config();
        let folder = folder.ok_or_else(|| Error::input("no home directory in the environment"))?;
        folder.join(USER_FILE)
    };
    match write(&path, args.force) {
        Ok(()) => {
            printer.text(&format!("wrote {}\n", path.display()));
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Error::input(
            format_args!("{} is there already; --force overwrites it", path.display()),
        )),
        Err(error) => Err(Error::input(format_args!(
            "cannot write {}: {error}",
            path.display()
        ))),
    }
}

/// Writes the file. With `force` it takes the place of another one at once, also of a link.
fn write(path: &Path, force: bool) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    if let Some(folder) = folder {
        files::create_private_folder(folder)?;
    }
    if !force {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        return file.write_all(STARTER.as_bytes());
    }
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(STARTER.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
