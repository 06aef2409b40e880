//! `cargo xtask release`: what has to hold before the crates are published. Nothing is published here.

use std::fs;

use crate::Failure;
use crate::shell::{answers, capture, cargo, command, root, run as sh};

/// Crates that only this workspace uses.
const OWN: [&str; 2] = ["gadgetry-order", "xtask"];

/// The address in `repository` until there is one.
const PLACEHOLDER: &str = "https://example.com/";

/// Checks everything; the first problem ends it.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if let [unknown, ..] = args {
        return Err(Failure::Usage(format!("unexpected `{unknown}`")));
    }
    package(&[])?;
    compatible()?;
    let manifest = fs::read_to_string(root().join("Cargo.toml"))
        .map_err(|why| format!("Cargo.toml cannot be read: {why}"))?;
    match repository(&manifest) {
        Some(address) if !address.starts_with(PLACEHOLDER) => Ok(()),
        Some(_) | None => Err(Failure::Check(format!(
            "`repository` in Cargo.toml is a placeholder ({PLACEHOLDER}…): set the address of the repository, from which \
             the links of READMEs are made"
        ))),
    }
}

/// Packages all crates, without building them again. Fails for a manifest that a registry would refuse.
pub(crate) fn package(options: &[&str]) -> Result<(), String> {
    let mut package = cargo(&["package", "--workspace", "--no-verify", "--quiet"]);
    for own in OWN {
        package.args(["--exclude", own]);
    }
    sh(package.args(options))
}

/// Compares the public interfaces with those of the last tag.
fn compatible() -> Result<(), String> {
    let tag = ["describe", "--tags", "--abbrev=0", "--match", "v*"];
    let Ok((tag, _)) = capture(&mut command("git", &tag)) else {
        eprintln!("there is no tag `v…` yet, so there is no interface to compare with");
        return Ok(());
    };
    if !answers(&mut cargo(&["semver-checks", "--version"])) {
        let install = "cargo install cargo-semver-checks --locked";
        return Err(format!("cargo-semver-checks is missing: {install}"));
    }
    let mut check = cargo(&["semver-checks", "--workspace", "--baseline-rev", tag.trim()]);
    for own in OWN {
        check.args(["--exclude", own]);
    }
    sh(&mut check)
}

/// The value of `repository` in the workspace's manifest.
fn repository(manifest: &str) -> Option<&str> {
    let value = manifest.lines().find_map(|line| line.strip_prefix("repository = "))?;
    Some(value.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::repository;

    #[test]
    fn the_repository_is_read() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\nrepository = \"https://a.b/c\"\n";
        assert_eq!(repository(manifest), Some("https://a.b/c"));
        assert_eq!(repository("[workspace]\n"), None);
    }
}
