//! The packages for other languages: built, installed into a fresh environment, and tested there from outside of the tree.
//!
//! Everything is below `target/bindings`: cargo's files, and those that the modules list.

mod node;
mod python;

use std::fs;
use std::path::Path;

use crate::servers::target;

/// Builds and tests the packages. Returns what was not tested, where the machine lacks something.
pub(crate) fn check() -> Result<Option<String>, String> {
    let folder = target().join("bindings");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let missing: Vec<String> = [node::check(&folder)?, python::check(&folder)?]
        .into_iter()
        .flatten()
        .collect();
    Ok((!missing.is_empty()).then(|| missing.join("; ")))
}

/// Makes `place` a new folder with a copy of these files.
fn copied(files: &Path, place: &Path) -> Result<(), String> {
    _ = fs::remove_dir_all(place);
    fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let listed = fs::read_dir(files).map_err(|error| format!("{}: {error}", files.display()))?;
    for file in listed.flatten().filter(|file| file.path().is_file()) {
        let copied = fs::copy(file.path(), place.join(file.file_name()));
        copied.map_err(|error| format!("{}: {error}", file.path().display()))?;
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
