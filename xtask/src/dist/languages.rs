//! The packages for Python and Node.js, and the command for both.
//!
//! The program is in packages of its own, with the bytes of the archive: `gadgetry-cli` for pip, a dependency of the wheel `gadgetry`, and
//! `gadgetry-cli-PLATFORM-ARCH` for npm, an optional dependency of `gadgetry`. These dependencies are added here and not in the source, so
//! that no clone asks a registry for a package that may be someone else's.

use std::fs;
use std::path::{Path, PathBuf};

use super::tried::works;
use super::{Release, files};
use crate::bindings::{node, python, wasm};
use crate::disk;
use crate::servers::{pip, target};
use crate::shell::{capture, command, run as sh};

/// Machines, as Rust and as npm call them.
const MACHINES: [(&str, &str); 2] = [("x86_64", "x64"), ("aarch64", "arm64")];

/// What the program for Python and the one for Node.js print.
const ANSWER: &str = "Paris It is 21 degrees.";

const PYTHON: &str = r#"
from gadgetry import Agent, ScriptedModel, gadget
from gadgetry.testing import call
seen = []
@gadget
def weather(city: str) -> str:
    """Get the weather."""
    seen.append(city)
    return "21 degrees"
model = ScriptedModel(call("Weather", city="Paris"), "It is 21 degrees.")
result = Agent(model, gadgets=[weather]).ask_sync("?")
print(*seen, result.text)
"#;

const NODE: &str = r#"
import { Agent, gadget, ScriptedModel } from "gadgetry";
import { call } from "gadgetry/testing";
const parameters = { type: "object", properties: { city: { type: "string" } } };
const seen = [];
const run = ({ city }) => (seen.push(city), "21 degrees");
const weather = gadget({ name: "Weather", description: "Get the weather.", parameters, run });
const model = new ScriptedModel(call("Weather", { city: "Paris" }), "It is 21 degrees.");
const result = await new Agent({ model, gadgets: [weather] }).ask("?");
console.log(...seen, result.text);
"#;

/// Makes and tries them. What the machine lacks the tools for is left out, and named.
pub(super) fn made(release: &Release, staged: &Path, profile: &str) -> Result<(), String> {
    let folder = target().join("bindings");
    disk::folder(&folder)?;
    if let Err(why) = python::tools(&folder) {
        eprintln!("no wheels: {why}");
    } else {
        python::release(&folder, profile, &release.folder)?;
        command_wheel(release, staged)?;
    }
    if let Err(why) = capture(&mut command("npm", &["--version"])) {
        eprintln!("no packages for npm: {why}");
    } else {
        node_package(release, staged, &folder, profile)?;
        command_package(release, staged)?;
        if let Err(why) = wasm::standard_library() {
            eprintln!("no package for browsers: {why}");
        } else {
            browser_package(release, staged, &folder)?;
        }
    }
    Ok(())
}

fn machine(release: &Release) -> &str {
    release.triple.split('-').next().unwrap_or_default()
}

fn command_wheel(release: &Release, staged: &Path) -> Result<(), String> {
    let machine = machine(release);
    // Linked statically, it runs on any Linux. PyPI refuses the other one.
    let platform = if release.triple.ends_with("musl") {
        format!("manylinux_2_17_{machine}.musllinux_1_1_{machine}")
    } else {
        format!("linux_{machine}")
    };
    let licences = target().join("release-stage/python");
    disk::empty_folder(&licences)?;
    add_licences(staged, "bindings/python/Cargo.toml", &licences)?;
    let mut wheel = command("python3", &["packaging/wheel.py"]);
    wheel.arg(staged).args([&release.version, &platform]);
    sh(wheel.arg(&release.folder).arg(licences))
}

/// Adds the licences to the package with this manifest, in a release and not in a trial of the packages.
fn add_licences(staged: &Path, manifest: &str, package: &Path) -> Result<(), String> {
    if staged.join(files::THIRD_PARTY).is_file() {
        files::licences(manifest, package)?;
    }
    Ok(())
}

/// The name of the package of npm that has the program.
fn name_for_npm(release: &Release) -> String {
    let machine = machine(release);
    let of_npm = MACHINES.iter().find(|(rust, _)| *rust == machine);
    format!("gadgetry-cli-linux-{}", of_npm.map_or(machine, |it| it.1))
}

fn node_package(
    release: &Release,
    staged: &Path,
    folder: &Path,
    profile: &str,
) -> Result<(), String> {
    let place = target().join("release-stage/npm");
    disk::empty_folder(&place)?;
    node::release(folder, profile, &place)?;
    let manifest = place.join("package.json");
    let text = disk::read(&manifest)?;
    let dependency = format!(
        "  \"optionalDependencies\": {{ {:?}: {:?} }},\n  \"scripts\"",
        name_for_npm(release),
        release.version
    );
    let text = text.replacen("  \"scripts\"", &dependency, 1);
    disk::write(&manifest, &with_notices(&text))?;
    add_licences(staged, "bindings/node/Cargo.toml", &place)?;
    node::pack(&place, &release.folder)?;
    Ok(())
}

/// The package for browsers.
fn browser_package(release: &Release, staged: &Path, folder: &Path) -> Result<(), String> {
    let place = target().join("release-stage/wasm");
    disk::empty_folder(&place)?;
    wasm::release(folder, &place)?;
    let manifest = place.join("package.json");
    disk::write(&manifest, &with_notices(&disk::read(&manifest)?))?;
    add_licences(staged, "bindings/wasm/Cargo.toml", &place)?;
    node::pack(&place, &release.folder)?;
    Ok(())
}

/// A manifest of npm whose package has the licences.
fn with_notices(manifest: &str) -> String {
    let notices = format!("\"README.md\", \"LICENSE-*\", {:?}]", files::THIRD_PARTY);
    manifest.replacen("\"README.md\"]", &notices, 1)
}

/// Packs the program.
fn command_package(release: &Release, staged: &Path) -> Result<(), String> {
    let name = name_for_npm(release);
    let place = target().join("release-stage").join(&name);
    disk::empty_folder(&place)?;
    for file in [
        "gadgetry",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        files::THIRD_PARTY,
    ] {
        if staged.join(file).is_file() {
            disk::copy(&staged.join(file), &place.join(file))?;
        }
    }
    let cpu = name.rsplit('-').next().unwrap_or_default();
    let manifest = format!(
        "{{\n  \"name\": {name:?},\n  \"version\": {:?},\n  \"description\": \"The program of the package gadgetry\",\n  \
         \"license\": \"MIT OR Apache-2.0\",\n  \"os\": [\"linux\"],\n  \"cpu\": [{cpu:?}]\n}}\n",
        release.version
    );
    disk::write(&place.join("package.json"), &manifest)?;
    node::pack(&place, &release.folder)?;
    Ok(())
}

/// Tries those that were made, each in an empty folder and without a network.
pub(super) fn tried(release: &Release, folder: &Path) -> Result<(), String> {
    let named = |begin: &str, end: &str| -> Option<PathBuf> {
        let files = fs::read_dir(&release.folder).into_iter().flatten();
        let mut files = files.flatten().map(|file| file.path());
        files.find(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(begin) && name.ends_with(end)
        })
    };
    if named("gadgetry_cli-", ".whl").is_some() {
        python_tried(release, &folder.join("python"))?;
    }
    if let Some(program) = named(&name_for_npm(release), ".tgz") {
        let library = release
            .folder
            .join(format!("gadgetry-{}.tgz", release.version));
        node_tried(&[library, program], &folder.join("node"))?;
    }
    Ok(())
}

fn python_tried(release: &Release, folder: &Path) -> Result<(), String> {
    disk::empty_folder(folder)?;
    let bin = folder.join("venv/bin");
    capture(command("python3", &["-m", "venv"]).arg(folder.join("venv")))?;
    let python = bin.join("python").display().to_string();
    let mut install = pip(&python);
    install.args(["--no-index", "gadgetry", "--find-links"]);
    capture(install.arg(&release.folder).current_dir(folder))?;
    works(&bin.join("gadgetry"), folder)?;
    answers(command(&python, &["-I", "-c", PYTHON]).current_dir(folder))
}

fn node_tried(packages: &[PathBuf], folder: &Path) -> Result<(), String> {
    disk::empty_folder(folder)?;
    disk::write(
        &folder.join("package.json"),
        "{ \"private\": true, \"type\": \"module\" }\n",
    )?;
    let mut install = node::npm(&["install", "--offline"]);
    capture(install.args(packages).current_dir(folder))?;
    let (version, _) =
        capture(command("npx", &["--offline", "gadgetry", "--version"]).current_dir(folder))?;
    if !version.contains("target: ") {
        return Err(format!(
            "`npx gadgetry --version` prints no target:\n{version}"
        ));
    }
    disk::write(&folder.join("try.js"), NODE)?;
    answers(command("node", &["try.js"]).current_dir(folder))
}

fn answers(program: &mut std::process::Command) -> Result<(), String> {
    let (printed, _) = capture(program)?;
    if printed.trim() == ANSWER {
        return Ok(());
    }
    Err(format!(
        "a program on the package prints no `{ANSWER}`:\n{printed}"
    ))
}
