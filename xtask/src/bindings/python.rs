//! The package for Python.
//!
//! `tools` (an environment with what the tests need, from `PyPI`), `wheels`, `fresh` (an environment that is new each time, with the
//! wheel), `measured` (the same for measurements), `outside` (a copy of the tests), `reference/python` (the pages of its API).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::copied;
use crate::disk::{read, write};
use crate::servers::pip;
use crate::shell::{capture, command, root, run as sh};

const PYTHON: &str = "bindings/python";

/// The oldest Python for which there is a wheel.
const OLDEST: &str = "import sys; sys.exit(sys.version_info < (3, 11))";

/// Builds and tests the package in `folder`. Returns why not, where the machine lacks something.
pub(super) fn check(folder: &Path) -> Result<Option<String>, String> {
    if capture(command("python3", &["-c"]).arg(OLDEST)).is_err() {
        return Ok(Some(
            "the Python package was not tested: there is no python3 from 3.11 on".to_owned(),
        ));
    }
    let tools = match tools(folder) {
        Ok(tools) => tools,
        Err(why) => {
            return Ok(Some(format!(
                "the Python package was not tested: its tools are not to be had: {why}"
            )));
        }
    };
    let python = installed(folder, &tools)?;
    // A copy of the tests where no source of the package is found.
    let outside = folder.join("outside");
    copied(&root().join(PYTHON).join("tests"), &outside)?;
    tests(&outside, &python)?;
    types(folder, &outside, &tools, &python)?;
    reference(folder, &outside, &python)?;
    Ok(None)
}

/// Prints each public module, with the names that it exports.
const EXPORTED: &str = "\
import importlib, pkgutil, gadgetry
for module in ['gadgetry', *(it.name for it in pkgutil.iter_modules(gadgetry.__path__, 'gadgetry.'))]:
    if '._' not in module: print(module, *importlib.import_module(module).__all__)";

/// Makes the pages of the API from docstrings and stubs. `cargo xtask book` adds them to the site.
///
/// Fails if a name that a module exports is not on the page of the module.
fn reference(folder: &Path, outside: &Path, python: &Path) -> Result<(), String> {
    let (exported, _) = capture(
        Command::new(python)
            .args(["-c", EXPORTED])
            .current_dir(outside),
    )?;
    let pages = folder.join("reference/python");
    let lines = exported.lines();
    let modules = lines.filter_map(|line| line.split_whitespace().next());
    let mut pdoc = Command::new(python);
    pdoc.args(["-m", "pdoc", "--no-show-source", "--docformat", "google"]);
    pdoc.arg("--output-directory").arg(&pages);
    sh(pdoc.args(modules).current_dir(outside))?;
    for line in exported.lines() {
        let mut names = line.split_whitespace();
        let module = names.next().unwrap_or_default();
        let page = read(&pages.join(format!("{}.html", module.replace('.', "/"))))?;
        let missing = names.find(|name| !page.contains(&format!("id=\"{name}\"")));
        if let Some(name) = missing {
            return Err(format!("the reference of {module} has no {name}"));
        }
    }
    Ok(())
}

/// An environment with the tools, made again when their list changes.
pub(crate) fn tools(folder: &Path) -> Result<PathBuf, String> {
    let place = folder.join("tools");
    let list = root().join(PYTHON).join("tests/requirements.txt");
    let wanted = read(&list)?;
    let stamp = place.join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(place);
    }
    eprintln!(
        "the tools of the Python package are installed into {}",
        place.display()
    );
    capture(command("python3", &["-m", "venv", "--clear"]).arg(&place))?;
    let python = place.join("bin/python").display().to_string();
    capture(pip(&python).arg("--requirement").arg(&list))?;
    write(&stamp, &wanted)?;
    Ok(place)
}

/// Builds the package and installs it into an environment of its own. Returns its interpreter.
pub(crate) fn installed(folder: &Path, tools: &Path) -> Result<PathBuf, String> {
    let wheel = wheel(folder, tools, "dev")?;
    fresh(&folder.join("fresh"), tools, &wheel)
}

/// Builds the package with a profile and installs it into an environment for measurements. Returns its interpreter.
pub(super) fn measured(folder: &Path, profile: &str) -> Result<PathBuf, String> {
    let tools = tools(folder)?;
    let wheel = wheel(folder, &tools, profile)?;
    fresh(&folder.join("measured"), &tools, &wheel)
}

/// Downloads the wheel of a package into a folder, whatever Python it is for. Returns its path.
pub(super) fn downloaded(python: &Path, package: &str, place: &Path) -> Result<PathBuf, String> {
    let mut download = Command::new(python);
    download.args(["-m", "pip", "download", "--quiet", "--no-deps"]);
    download.args(["--only-binary=:all:", "--python-version=3.12", "--dest"]);
    capture(download.arg(place).arg(package))?;
    only_wheel(place)
}

/// Builds the wheel of a release into `place`, for [`crate::dist`].
pub(crate) fn release(folder: &Path, profile: &str, place: &Path) -> Result<(), String> {
    // maturin finds out on how old a system it runs.
    build(folder, &tools(folder)?, profile, &[], place)
}

/// Builds the wheel. The tests take the profile `dev`: that of the release takes several times as long.
fn wheel(folder: &Path, tools: &Path, profile: &str) -> Result<PathBuf, String> {
    let wheels = folder.join("wheels");
    _ = fs::remove_dir_all(&wheels);
    let options = ["--compatibility", "linux"];
    build(folder, tools, profile, &options, &wheels)?;
    only_wheel(&wheels)
}

/// The wheel in a folder.
fn only_wheel(place: &Path) -> Result<PathBuf, String> {
    let files = fs::read_dir(place).map_err(|error| format!("{}: {error}", place.display()))?;
    let mut files = files.flatten().map(|file| file.path());
    files
        .find(|file| file.extension().is_some_and(|it| it == "whl"))
        .ok_or_else(|| format!("{} has no wheel", place.display()))
}

fn build(
    folder: &Path,
    tools: &Path,
    profile: &str,
    options: &[&str],
    place: &Path,
) -> Result<(), String> {
    // Without the variables that cargo has set for us, or `ring` and everything above it would be built again.
    let mut build = command(&tools.join("bin/maturin").display().to_string(), &[]);
    build.args(["build", "--quiet", "--locked", "--profile", profile]);
    build.args(options);
    build.arg("--interpreter").arg(tools.join("bin/python"));
    build.arg("--out").arg(place);
    build.current_dir(root().join(PYTHON));
    build.env("CARGO_TARGET_DIR", folder);
    sh(&mut build)
}

/// Makes `place` a new environment with the wheel; it finds the tools, too. Returns its interpreter.
fn fresh(place: &Path, tools: &Path, wheel: &Path) -> Result<PathBuf, String> {
    capture(command("python3", &["-m", "venv", "--clear"]).arg(place))?;
    let python = place.join("bin/python");
    let shown = python.display().to_string();
    capture(pip(&shown).args(["--no-index", "--no-deps"]).arg(wheel))?;
    let packages = |python: &Path| -> Result<PathBuf, String> {
        let print = "import sysconfig; print(sysconfig.get_path('purelib'), end='')";
        let (path, _) = capture(Command::new(python).args(["-c", print]))?;
        Ok(PathBuf::from(path))
    };
    let theirs = packages(&tools.join("bin/python"))?;
    let file = packages(&python)?.join("tools.pth");
    write(&file, &theirs.display().to_string())?;
    Ok(python)
}

fn tests(outside: &Path, python: &Path) -> Result<(), String> {
    let mut tests = Command::new(python);
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "."]);
    tests.current_dir(outside);
    tests.env("GADGETRY_INSTALLED", "1");
    tests.env("GADGETRY_ROOT", root());
    sh(&mut tests)
}

/// Strict pyright of the package as it is installed and of a program that uses it, and stubtest of the native part.
fn types(folder: &Path, outside: &Path, tools: &Path, python: &Path) -> Result<(), String> {
    let place = "import gadgetry, pathlib; print(pathlib.Path(gadgetry.__file__).parent, end='')";
    let (package, _) = capture(
        Command::new(python)
            .args(["-c", place])
            .current_dir(outside),
    )?;
    // Pyright takes only what is relative to its settings.
    let relative = |path: &Path| -> Result<String, String> {
        let inside = path.strip_prefix(folder);
        let inside = inside.map_err(|_| format!("{} is not below target", path.display()))?;
        Ok(inside.display().to_string())
    };
    let settings = format!(
        "{{\"include\": [{:?}, {:?}], \"typeCheckingMode\": \"strict\", \"pythonVersion\": \"3.11\",\n  \
         \"reportUnnecessaryTypeIgnoreComment\": \"error\", \"reportMissingModuleSource\": false, \"exclude\": []}}",
        relative(Path::new(&package))?,
        relative(&outside.join("typed.py"))?,
    );
    let file = folder.join("pyrightconfig.json");
    write(&file, &settings)?;
    let mut pyright = Command::new(tools.join("bin/pyright"));
    pyright.arg("--project").arg(&file);
    pyright.arg("--pythonpath").arg(python);
    sh(pyright.current_dir(outside))?;
    let mut stubtest = Command::new(python);
    stubtest.args([
        "-m",
        "mypy.stubtest",
        "gadgetry._gadgetry",
        "--ignore-disjoint-bases",
    ]);
    sh(stubtest.current_dir(outside))
}
