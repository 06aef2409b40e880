//! Files and folders. An error names the path.

use std::fs;
use std::path::Path;

/// Reads a text.
pub(crate) fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| at(file, &error))
}

/// Writes a text.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| at(file, &error))
}

/// Copies a file, with its permissions.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let copied = fs::copy(from, to);
    copied.map(drop).map_err(|error| at(from, &error))
}

/// Makes a folder, with those above it, unless it is there.
pub(crate) fn folder(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|error| at(path, &error))
}

/// Makes an empty folder in place of what is there.
pub(crate) fn empty_folder(path: &Path) -> Result<(), String> {
    // It may be absent.
    _ = fs::remove_dir_all(path);
    folder(path)
}

fn at(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}
