//! The table of models: the built-in one, or a newer one stored by `gadgetry models update`.

use std::env;
use std::path::{Path, PathBuf};

use gadgetry::models::ModelRegistry;

use crate::args::DataArgs;
use crate::error::Error;

/// The name of the table in the data directory.
const TABLE: &str = "models.json.gz";

/// Loads the known models. A stored table that cannot be read is reported as an error.
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

/// The path of the stored table.
pub(crate) fn path(args: &DataArgs) -> Result<PathBuf, Error> {
    let folder = match &args.data_dir {
        Some(folder) => folder.clone(),
        None => data_dir().ok_or_else(|| {
            Error::input("no home directory in the environment; set one with --data-dir")
        })?,
    };
    Ok(folder.join(TABLE))
}

/// The user's data directory for this program.
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
