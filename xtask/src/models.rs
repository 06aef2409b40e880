//! `cargo xtask models`: rebuilds the table of models in `crates/gadgetry-providers/data`, and prints what changed.
//!
//! Without `--from`, pip fetches the newest package `litellm` and the table is taken out of it. A wheel that was fetched
//! before, the table alone, or an address of either can be named, too.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::shell::{capture, cargo, command, root, run as sh};

/// The table in the package. Everything outside of `enterprise/` is under the MIT licence.
const TABLE: &str = "litellm/model_prices_and_context_window_backup.json";

pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let from = match args {
        [] => None,
        [option, from] if option == "--from" => Some(from.as_str()),
        _ => {
            return Err(Failure::Usage(
                "models takes nothing but `--from FILE` or `--from URL`".to_owned(),
            ));
        }
    };
    let folder = root().join("target/models");
    // What an earlier run left is not to be taken for what this one fetches.
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("target/models: {error}"))?;
    }
    fs::create_dir_all(&folder).map_err(|error| format!("target/models: {error}"))?;

    let url = from.filter(|from| from.starts_with("https://"));
    let file = match (url, from) {
        (Some(url), _) => fetched(url, &folder)?,
        (None, Some(file)) => fs::canonicalize(file).map_err(|error| format!("{file}: {error}"))?,
        (None, None) => newest(&folder)?,
    };
    let name = file
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    // Its name is `litellm-VERSION-…whl`. A table alone does not tell its version.
    let version = name
        .strip_suffix(".whl")
        .and_then(|wheel| wheel.split('-').nth(1));
    let (table, source) = match version {
        Some(_) => (unpacked(&file, &folder)?, "litellm"),
        None => (file, url.unwrap_or(&name)),
    };
    let (today, _) = capture(&mut command("date", &["-u", "+%F"]))?;
    let table = table.to_string_lossy();
    let arguments = [&*table, source, version.unwrap_or_default(), today.trim()];
    let program = [
        "run",
        "--quiet",
        "--package",
        "gadgetry-providers",
        "--example",
        "models_table",
        "--",
    ];
    sh(cargo(&program).args(arguments))?;
    Ok(())
}

/// The newest package, as pip finds it.
fn newest(folder: &Path) -> Result<PathBuf, String> {
    let arguments = ["-m", "pip", "download", "litellm", "--no-deps", "--quiet"];
    capture(command("python3", &arguments).arg("--dest").arg(folder))?;
    let mut entries = fs::read_dir(folder).map_err(|error| format!("target/models: {error}"))?;
    let wheel = entries.find_map(|entry| {
        let path = entry.ok()?.path();
        path.extension()
            .is_some_and(|it| it == "whl")
            .then_some(path)
    });
    wheel.ok_or_else(|| "pip fetched no wheel of litellm".to_owned())
}

/// Downloads what is at this address, under the name that it has there.
fn fetched(url: &str, folder: &Path) -> Result<PathBuf, String> {
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let name = path.rsplit('/').find(|part| !part.is_empty());
    let file = folder.join(name.unwrap_or("table.json"));
    let arguments = [
        "--fail",
        "--silent",
        "--show-error",
        "--location",
        "--proto",
        "=https",
    ];
    sh(command("curl", &arguments)
        .arg("--output")
        .arg(&file)
        .arg(url))?;
    Ok(file)
}

/// The table in a wheel, which is a zip file.
fn unpacked(wheel: &Path, folder: &Path) -> Result<PathBuf, String> {
    let program =
        "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])";
    let mut python = command("python3", &["-c", program]);
    capture(python.arg(wheel).arg(TABLE).arg(folder))?;
    Ok(folder.join(TABLE))
}
