//! The table of models: the built-in one, or a newer one stored by `gadgetry models update`.

use std::path::PathBuf;

use gadgetry::models::ModelRegistry;

use crate::cli::DataArgs;
use crate::data_dir;
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
    Ok(data_dir::folder(args)?.join(TABLE))
}
