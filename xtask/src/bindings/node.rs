//! The package for Node.js.
//!
//! `reference/typescript` (the pages of its API). Below `node`: `package.json` and `node_modules` (what the tests need, from npm), `outside` (a copy of the tests, with the package).

use std::fs;
use std::path::Path;

use super::{copied, copied_package};
use crate::disk::{self, read, write};
use crate::shell::{capture, command, root, run as sh};

const NODE: &str = "bindings/node";

/// The oldest Node.js for which the package is made.
const OLDEST: &str = "process.exit(Number(process.versions.node.split('.')[0]) < 20 ? 1 : 0)";

/// Builds and tests the package in `folder`. Returns why not, where the machine lacks something.
pub(super) fn check(folder: &Path) -> Result<Option<String>, String> {
    let missing = |why: &str| {
        Ok(Some(format!(
            "the package for Node.js was not tested: {why}"
        )))
    };
    if capture(command("node", &["--eval"]).arg(OLDEST)).is_err() {
        return missing("there is no node from 20 on");
    }
    let place = folder.join("node");
    if let Err(why) = tools(&place) {
        return missing(&format!("its tools are not to be had: {why}"));
    }
    build(folder, "dev")?;
    let outside = place.join("outside");
    copied(&root().join(NODE).join("test"), &outside)?;
    install(NODE, &outside)?;
    run_tests(&outside)?;
    reference(folder, &outside)?;
    Ok(None)
}

/// Makes the pages of the API from the types of the package; what they show is in `tsconfig.json`. `cargo xtask book` adds them to the site.
fn reference(folder: &Path, outside: &Path) -> Result<(), String> {
    let program = folder.join("node/node_modules/typedoc/bin/typedoc");
    let mut typedoc = command("node", &[]);
    typedoc.arg(program).args(["--logLevel", "Warn", "--out"]);
    typedoc.arg(folder.join("reference/typescript"));
    sh(typedoc.current_dir(outside))
}

/// The packages that the tests need, installed again when their list changes.
fn tools(place: &Path) -> Result<(), String> {
    let wanted = read(&root().join(NODE).join("test/package.json"))?;
    let stamp = place.join("installed.json");
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    eprintln!(
        "the tools of the package for Node.js are installed into {}",
        place.display()
    );
    disk::folder(place)?;
    write(&place.join("package.json"), &wanted)?;
    capture(npm(&["install"]).current_dir(place))?;
    write(&stamp, &wanted)
}

/// Builds the native part and copies the package into `place`, for [`crate::dist`], which adds to it before it packs it.
pub(crate) fn release(folder: &Path, profile: &str, place: &Path) -> Result<(), String> {
    build(folder, profile)?;
    copied_package(NODE, &["bin", "lib", "native"], place)
}

/// Makes the tarball of a package, and returns its name.
pub(crate) fn pack(package: &Path, place: &Path) -> Result<String, String> {
    let mut pack = npm(&["pack"]);
    pack.arg(format!("--pack-destination={}", place.display()));
    let (name, _) = capture(pack.current_dir(package))?;
    Ok(name.lines().last().unwrap_or_default().trim().to_owned())
}

/// Builds the native part. The tests take the profile `dev`: that of the release takes several times as long.
pub(super) fn build(folder: &Path, profile: &str) -> Result<(), String> {
    let mut build = command("node", &["build.mjs", "--profile", profile]);
    build.current_dir(root().join(NODE));
    sh(build.env("CARGO_TARGET_DIR", folder))
}

/// Packs the package of a folder of the repository, and installs it next to the tests.
pub(super) fn install(package: &str, outside: &Path) -> Result<(), String> {
    write(
        &outside.join("package.json"),
        "{ \"private\": true, \"type\": \"module\" }\n",
    )?;
    let name = pack(&root().join(package), outside)?;
    let mut install = npm(&["install", "--offline", "--no-save"]);
    capture(install.arg(format!("./{name}")).current_dir(outside))?;
    Ok(())
}

pub(crate) fn npm(arguments: &[&str]) -> std::process::Command {
    let mut npm = command("npm", arguments);
    npm.args([
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]);
    npm
}

/// Runs the tests of a folder.
pub(super) fn run_tests(outside: &Path) -> Result<(), String> {
    let listed =
        fs::read_dir(outside).map_err(|error| format!("{}: {error}", outside.display()))?;
    let names = listed.flatten().map(|file| file.file_name());
    let mut names: Vec<_> = names
        .filter(|name| name.to_string_lossy().ends_with(".test.js"))
        .collect();
    names.sort();
    let mut tests = command("node", &["--test", "--test-reporter=dot"]);
    tests.args(names).current_dir(outside);
    sh(tests.env("GADGETRY_ROOT", root()))
}
