//! The user's data directory: the table of models and the sessions.

use std::env;
use std::path::{Path, PathBuf};

use crate::args::DataArgs;
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
fn usual() -> Option<PathBuf> {
    let folder = |variable: &str| {
        let path = env::var_os(variable).map(PathBuf::from)?;
        path.is_absolute().then_some(path)
    };
    let below_home = |path: &str| Some(folder("HOME")?.join(path));
    let base = folder("XDG_DATA_HOME").or_else(|| {
        if cfg!(windows) {
            folder("LOCALAPPDATA")
        } else if cfg!(target_os = "macos") {
            below_home("Library/Application Support")
        } else {
            below_home(".local/share")
        }
    });
    Some(base?.join(Path::new("gadgetry")))
}
