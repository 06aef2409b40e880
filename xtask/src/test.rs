//! `cargo xtask test`: every check, the cheap ones first, the tests last.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Instant;

use crate::Failure;
use crate::bindings;
use crate::book;
use crate::release;
use crate::servers;
use crate::shell::{answers, capture, cargo, command, root, run as sh};
use crate::tidy;
use crate::trees;

/// The outcome of a step that did not fail.
enum Outcome {
    Done,
    /// The step needs something that is optional and absent.
    Skipped(Cow<'static, str>),
}

/// The fuzz targets stand outside the workspace.
const FUZZ: &str = "fuzz/Cargo.toml";

/// And so do the packages for other languages.
const BINDINGS: &str = "bindings/Cargo.toml";

struct Step {
    name: &'static str,
    run: fn() -> Result<Outcome, String>,
}

/// Maximum number of tests at once.
const TEST_THREADS: &str = "RUST_TEST_THREADS";

/// Only by name: `tests` has a small dose of it.
const CHAOS: &str = "chaos";

/// Kills of durable runs in [`chaos`].
const KILLS: &str = "200";

/// Only by name: `tests` has a small dose of it, once `servers` has installed what it needs.
const MODELS: &str = "models";

/// `tests` stays last, so that the runner's own closing lines are the last thing on standard output.
const STEPS: [Step; 15] = [
    Step {
        name: CHAOS,
        run: chaos,
    },
    Step {
        name: MODELS,
        run: real_models,
    },
    Step {
        name: "format",
        run: format,
    },
    Step {
        name: "tidy",
        run: tidy,
    },
    Step {
        name: "deny",
        run: deny,
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: CHANGED,
        run: changed,
    },
    Step {
        name: "docs",
        run: docs,
    },
    Step {
        name: "fuzz",
        run: fuzz,
    },
    Step {
        name: "servers",
        run: foreign_servers,
    },
    Step {
        name: "package",
        run: package,
    },
    Step {
        name: "features",
        run: features,
    },
    Step {
        name: "bindings",
        run: packages_of_other_languages,
    },
    Step {
        name: "msrv",
        run: minimum_compiler,
    },
    Step {
        name: "tests",
        run: tests,
    },
];

/// The names of all steps, for the help.
pub(crate) fn names() -> String {
    STEPS.map(|step| step.name).join(", ")
}

/// Steps of `--quick`.
const QUICK: [&str; 4] = ["format", "tidy", "clippy", CHANGED];

/// Only by name or with `--quick`.
const CHANGED: &str = "changed";

/// Runs the steps that `wanted` names, or all, or with `--quick` those of [`QUICK`]; stops at the first that fails.
pub(crate) fn run(wanted: &[String]) -> Result<(), Failure> {
    if wanted == ["--quick"] {
        return run(&QUICK.map(str::to_owned));
    }
    if let Some(unknown) = wanted
        .iter()
        .find(|name| STEPS.iter().all(|step| step.name != *name))
    {
        return Err(Failure::Usage(format!(
            "unknown step `{unknown}`; there are {}",
            names()
        )));
    }
    let all_began = Instant::now();
    for step in STEPS {
        let is_named = wanted.iter().any(|name| name == step.name);
        let is_usual = wanted.is_empty() && ![CHAOS, MODELS, CHANGED].contains(&step.name);
        if !is_named && !is_usual {
            continue;
        }
        eprintln!("── {}", step.name);
        let began = Instant::now();
        let outcome = (step.run)();
        let seconds = began.elapsed().as_secs_f64();
        match outcome {
            Ok(Outcome::Done) => eprintln!("── {}: ok ({seconds:.1} s)", step.name),
            Ok(Outcome::Skipped(why)) => eprintln!("── {}: SKIPPED: {why}", step.name),
            Err(why) => {
                return Err(Failure::Check(format!(
                    "step `{0}` failed after {seconds:.1} s: {why}\nAgain, alone: cargo xtask test {0}",
                    step.name
                )));
            }
        }
    }
    let seconds = all_began.elapsed().as_secs_f64();
    eprintln!("── total: {seconds:.1} s");
    Ok(())
}

fn format() -> Result<Outcome, String> {
    component("rustfmt", "fmt")?;
    sh(&mut cargo(&["fmt", "--all", "--check"]))?;
    for outside in [FUZZ, BINDINGS, book::MANIFEST] {
        sh(&mut cargo(&[
            "fmt",
            "--all",
            "--manifest-path",
            outside,
            "--check",
        ]))?;
    }
    Ok(Outcome::Done)
}

fn tidy() -> Result<Outcome, String> {
    tidy::check(&root())?;
    Ok(Outcome::Done)
}

/// Built when missing only in CI: it takes longer than the tests. Without it the tidy step still sees to it that every
/// package comes from crates.io.
fn deny() -> Result<Outcome, String> {
    let is_there = || answers(&mut cargo(&["deny", "--version"]));
    let in_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    if !is_there() && in_ci {
        eprintln!("cargo-deny is missing, so it is built (about two minutes)");
        let install = ["install", "cargo-deny", "--version", "^0.20", "--locked"];
        if let Err(why) = sh(cargo(&install).arg("--debug")) {
            eprintln!("{why}");
        }
    }
    if !is_there() {
        return Ok(Outcome::Skipped(
            "cargo-deny is not installed, so licences and bans were not checked \
             (cargo install cargo-deny --locked)"
                .into(),
        ));
    }
    // Not `advisories`: it downloads a database, and this command must work without a network.
    let check = ["deny", "check", "--hide-inclusion-graph"];
    sh(cargo(&check).args(["bans", "licenses", "sources"]))?;
    Ok(Outcome::Done)
}

/// Checks benches and examples as well, so they compile.
fn clippy() -> Result<Outcome, String> {
    component("clippy", "clippy")?;
    sh(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ]))?;
    Ok(Outcome::Done)
}

/// Tests of the crates in which files differ from the branch `main`, committed or not.
fn changed() -> Result<Outcome, String> {
    let base = git(&["merge-base", "HEAD", "main"]).unwrap_or_else(|_| "HEAD".to_owned());
    let mut files = git(&["diff", "--name-only", base.trim()])?;
    files += &git(&["ls-files", "--others", "--exclude-standard"])?;
    let crates = crates_of(&files);
    if crates.is_empty() {
        return Ok(Outcome::Skipped("no crate differs from main".into()));
    }
    let mut test = cargo(&["test", "--all-features"]);
    for name in crates {
        test.args(["--package", name]);
    }
    sh(&mut test)?;
    Ok(Outcome::Done)
}

fn git(args: &[&str]) -> Result<String, String> {
    let (stdout, _) = capture(&mut command("git", args))?;
    Ok(stdout)
}

/// Names of the crates that paths such as `crates/NAME/src/lib.rs` are in.
fn crates_of(files: &str) -> BTreeSet<&str> {
    let paths = files
        .lines()
        .filter_map(|path| path.strip_prefix("crates/"));
    paths
        .filter_map(|path| Some(path.split_once('/')?.0))
        .collect()
}

fn docs() -> Result<Outcome, String> {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--all-features"]);
    sh(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    book::build()?;
    Ok(Outcome::Done)
}

/// The targets are compiled, without the fuzzer's C++ runtime. The tests run the same properties on generated input;
/// the fuzzer itself needs a nightly compiler and is `cargo xtask fuzz`.
fn fuzz() -> Result<Outcome, String> {
    sh(&mut cargo(&[
        "check",
        "--manifest-path",
        FUZZ,
        "--no-default-features",
    ]))?;
    Ok(Outcome::Done)
}

/// Without them their tests are skipped, and say so.
fn foreign_servers() -> Result<Outcome, String> {
    let missing = servers::install()?;
    Ok(skipped(&missing))
}

fn skipped(missing: &[String]) -> Outcome {
    if missing.is_empty() {
        return Outcome::Done;
    }
    let why = format!(
        "the tests against these are skipped: {}",
        missing.join("; ")
    );
    Outcome::Skipped(why.into())
}

/// Without a network: the crates that are not ours are in the lock file.
fn package() -> Result<Outcome, String> {
    release::package(&["--allow-dirty", "--offline"])?;
    Ok(Outcome::Done)
}

/// The tests have all features. Of the engine, the parser alone is tested as well.
fn features() -> Result<Outcome, String> {
    trees::check()?;
    let lean = ["check", "--package", "gadgetry", "--no-default-features"];
    sh(&mut cargo(&lean))?;
    let parser = [
        "test",
        "--package",
        "gadgetry-proto",
        "--no-default-features",
    ];
    for part in [&["--lib"][..], &["--doc"], &["--test", "tests", "vectors"]] {
        sh(cargo(&parser).args(part))?;
    }
    Ok(Outcome::Done)
}

/// Needs Python from 3.11 on and Node.js from 20 on; their tools come from `PyPI` and npm when they are not there.
fn packages_of_other_languages() -> Result<Outcome, String> {
    component("clippy", "clippy")?;
    let missing = bindings::check()?;
    Ok(missing.map_or(Outcome::Done, |why| Outcome::Skipped(why.into())))
}

/// Every crate compiles with the oldest compiler that the manifest names, which rustup installs.
fn minimum_compiler() -> Result<Outcome, String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml"));
    let manifest = manifest.map_err(|error| format!("Cargo.toml: {error}"))?;
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'))
        .ok_or("Cargo.toml has no rust-version")?;
    let install = ["toolchain", "install", version, "--profile", "minimal"];
    if !answers(&mut command("rustup", &install)) {
        return Ok(Outcome::Skipped(
            format!("rustup cannot install Rust {version}").into(),
        ));
    }
    let mut check = command("rustup", &["run", version, "cargo", "check"]);
    check.args(["--workspace", "--all-features"]);
    // A folder of its own: the libraries of two compilers in one would be built again and again.
    sh(check.env("CARGO_TARGET_DIR", root().join("target/msrv")))?;
    Ok(Outcome::Done)
}

/// Durable runs whose processes are killed, many times. A few minutes.
fn chaos() -> Result<Outcome, String> {
    let missing = servers::install()?;
    let mut sqlite = cargo(&[
        "test",
        "--package",
        "gadgetry-store",
        "--test",
        "tests",
        "chaos",
    ]);
    sh(sqlite.env("GADGETRY_CHAOS_KILLS", KILLS))?;
    let restate = ["test", "--package", "gadgetry-restate", "--test", "tests"];
    sh(&mut cargo(&restate))?;
    Ok(skipped(&missing))
}

/// Runs what only a real model on a real server shows.
fn real_models() -> Result<Outcome, String> {
    let missing = servers::install_models()?;
    // The rules of `cargo xtask bench models` check themselves.
    sh(&mut command("python3", &["xtask/models/bfcl.py"]))?;
    for package in ["gadgetry-gateway", "gadgetry-cli"] {
        let mut test = cargo(&["test", "--package", package, "--test", "tests"]);
        sh(test.args(["--", "real_models::", "--include-ignored", "--nocapture"]))?;
    }
    readme()?;
    Ok(skipped(&missing))
}

/// Runs the programs of the README as they are pasted.
fn readme() -> Result<(), String> {
    servers::install()?;
    sh(&mut cargo(&["build", "--package", "gadgetry-cli"]))?;
    let folder = servers::target().join("bindings");
    let tools = bindings::python::tools(&folder)?;
    let python = bindings::python::installed(&folder, &tools)?;
    let mut programs = command("python3", &["xtask/models/readme.py"]);
    programs
        .arg(servers::target().join("debug/gadgetry"))
        .arg(python);
    for server in ["sdk-python", "llama-cpp", "smollm2"] {
        programs.args(servers::command_of(server)?);
    }
    sh(&mut programs)
}

fn tests() -> Result<Outcome, String> {
    let mut test = cargo(&["test", "--workspace", "--all-features"]);
    if std::env::var_os(TEST_THREADS).is_none() {
        // Half of them wait for programs and servers.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        test.env(TEST_THREADS, (2 * processors).to_string());
    }
    sh(&mut test)?;
    Ok(Outcome::Done)
}

/// Makes sure of a part of the toolchain that a minimal installation leaves out.
fn component(name: &str, subcommand: &str) -> Result<(), String> {
    if answers(&mut cargo(&[subcommand, "--version"])) {
        return Ok(());
    }
    eprintln!("{name} is missing; adding it with rustup");
    sh(&mut command("rustup", &["component", "add", name]))
        .map_err(|why| format!("{name} is missing and could not be added: {why}"))
}

#[cfg(test)]
mod tests {
    use super::crates_of;

    #[test]
    fn crates_of_changed_files() {
        let files = "README.md\ncrates/a/src/lib.rs\ncrates/b/tests/main.rs\ncrates/a/Cargo.toml\nxtask/src/main.rs\n";
        assert_eq!(crates_of(files).into_iter().collect::<Vec<_>>(), ["a", "b"]);
    }
}
