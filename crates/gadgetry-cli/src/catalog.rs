//! The table of models: the one in the program, or the newer one that `gadgetry models update` has kept.

use std::env;
use std::path::{Path, PathBuf};

use gadgetry::models::ModelRegistry;

use crate::args::DataArgs;
use crate::error::Error;

/// The name of the table in the data directory.
const TABLE: &str = "models.json.gz";

/// The models that are known. A kept table that cannot be read is the user's problem, and is told.
pub(crate) fn load(args: &DataArgs) -> Result<ModelRegistry, Error> {
    let Ok(path) = path(args) else {
        return Ok(ModelRegistry::builtin());
    };
    if !path.exists() {
        return Ok(ModelRegistry::builtin());
    }
    ModelRegistry::load(&path).map_err(|error| {
        let place = path.display();
        Error::at(
            place,
            format_args!("{error}; delete the file, or update it again"),
        )
    })
}

/// Where the kept table is, or would be.
pub(crate) fn path(args: &DataArgs) -> Result<PathBuf, Error> {
    let folder = match &args.data_dir {
        Some(folder) => folder.clone(),
        None => data_dir().ok_or_else(|| {
            Error::input("the environment names no home directory; say where with --data-dir")
        })?,
    };
    Ok(folder.join(TABLE))
}

/// Where programs of this user keep their data, and in it the place of this one.
fn data_dir() -> Option<PathBuf> {
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
