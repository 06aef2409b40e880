//! The user's folders: data (the table of models, the sessions) and configuration.

use std::env;
use std::path::{Path, PathBuf};

use crate::cli::DataArgs;
use crate::error::Error;

/// The directory that the user has named, or the one of this program.
pub(crate) fn folder(args: &DataArgs) -> Result<PathBuf, Error> {
    match &args.data_dir {
        Some(folder) => Ok(folder.clone()),
        None => usual().ok_or_else(|| {
            Error::input("no home directory in the environment; set one with --data-dir")
        }),
    }
}

/// The user's data directory for this program.
pub(crate) fn usual() -> Option<PathBuf> {
    below("XDG_DATA_HOME", "LOCALAPPDATA", ".local/share")
}

/// The user's configuration folder for this program.
pub(crate) fn config() -> Option<PathBuf> {
    below("XDG_CONFIG_HOME", "APPDATA", ".config")
}

/// This program's folder in the one of a variable, or of the system.
fn below(variable: &str, on_windows: &str, below_home: &str) -> Option<PathBuf> {
    let folder = |variable: &str| {
        let path = env::var_os(variable).map(PathBuf::from)?;
        path.is_absolute().then_some(path)
    };
    let home = |path: &str| Some(folder("HOME")?.join(path));
    let base = folder(variable).or_else(|| {
        if cfg!(windows) {
            folder(on_windows)
        } else if cfg!(target_os = "macos") {
            home("Library/Application Support")
        } else {
            home(below_home)
        }
    });
    Some(base?.join(Path::new("gadgetry")))
}
