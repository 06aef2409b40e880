//! The packages for other languages: built, installed into a fresh environment, and tested there from outside of the tree.
//!
//! Everything is below `target/bindings`: cargo's files, and those that the modules list.

pub(crate) mod node;
pub(crate) mod python;
pub(crate) mod wasm;

use std::fs;
use std::path::Path;

use crate::disk;
use crate::servers::{npm_install_all, target};
use crate::shell::{cargo, command, root, run as sh};

/// Builds and tests the packages. Returns what was not tested, where the machine lacks something.
pub(crate) fn check() -> Result<Option<String>, String> {
    let folder = target().join("bindings");
    disk::folder(&folder)?;
    clippy(&folder)?;
    let without_node = node::check(&folder)?;
    // Its tests use the tools and the package of those for Node.js.
    let without_wasm = match &without_node {
        Some(_) => Some("the package for browsers was not tested either".to_owned()),
        None => wasm::check(&folder)?,
    };
    let missing = [without_node, without_wasm, python::check(&folder)?];
    let missing: Vec<String> = missing.into_iter().flatten().collect();
    Ok((!missing.is_empty()).then(|| missing.join("; ")))
}

/// Packages that those for Python and Node.js are compared with. The first has the converter of an agent's replies.
const OPENHANDS: &str = "openhands-sdk==1.58.2";
const PEERS: [&str; 2] = ["@ai-sdk-tool/parser@4.1.26", "llmist@18.4.0"];

/// Measures the packages, built with the profile of a release or the one that follows `--profile`, next to peers of pure Python and
/// TypeScript.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let profile = match args {
        [] => "release",
        [option, name] if option == "--profile" => name,
        _ => return Err("bench bindings takes `--profile NAME`".to_owned()),
    };
    let folder = target().join("bindings");
    disk::folder(&folder)?;
    println!("\n### The Python package, profile `{profile}`\n");
    let python = python::measured(&folder, profile)?;
    let mut bench = command(&python.display().to_string(), &["bindings/python/bench.py"]);
    let peers = target().join("peers/openhands");
    match python::downloaded(&python, OPENHANDS, &peers) {
        Ok(wheel) => _ = bench.arg(wheel),
        Err(why) => println!("skipped: {why}"),
    }
    sh(&mut bench)?;
    println!("\n### The package for Node.js, profile `{profile}`\n");
    node::build(&folder, profile)?;
    let mut bench = command("node", &["bindings/node/bench.mjs"]);
    let peers = target().join("peers/node");
    match npm_install_all(&peers, &PEERS.map(str::to_owned)) {
        Ok(()) => _ = bench.arg(peers),
        Err(why) => println!("skipped: {why}"),
    }
    sh(&mut bench)
}

/// Checks the native parts, which the workspace of the product does not have.
fn clippy(folder: &Path) -> Result<(), String> {
    // Not `--all-targets`: without its exports, which a test has not, most of a native part is dead code.
    let mut clippy = cargo(&["clippy", "--quiet", "--locked", "--workspace"]);
    clippy.args(["--", "-D", "warnings"]);
    clippy.current_dir(root().join("bindings"));
    sh(clippy.env("CARGO_TARGET_DIR", folder))
}

/// Copies a package of npm, which is built, with these folders into `place`.
fn copied_package(package: &str, folders: &[&str], place: &Path) -> Result<(), String> {
    let package = root().join(package);
    for folder in folders {
        copied(&package.join(folder), &place.join(folder))?;
    }
    for file in ["README.md", "package.json"] {
        disk::copy(&package.join(file), &place.join(file))?;
    }
    Ok(())
}

/// Makes `place` a new folder with a copy of these files.
fn copied(files: &Path, place: &Path) -> Result<(), String> {
    disk::empty_folder(place)?;
    let listed = fs::read_dir(files).map_err(|error| format!("{}: {error}", files.display()))?;
    for file in listed.flatten().filter(|file| file.path().is_file()) {
        disk::copy(&file.path(), &place.join(file.file_name()))?;
    }
    Ok(())
}
