//! `cargo xtask release`: what has to hold before the crates are published. Nothing is published here.

use std::fs;

use crate::shell::{answers, capture, cargo, command, root, run as sh};
use crate::{Failure, readme, versions};

/// Crates that only this workspace uses, and its examples.
const OWN: [&str; 4] = ["clerk", "gadgetry-order", "gadgetry-programs", "xtask"];

/// The address in `repository` until there is one.
const PLACEHOLDER: &str = "https://example.com/";

/// Checks everything; the first problem ends it.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let address = repository()?;
    match args {
        [] => {}
        [word] if word == "readmes" => return Ok(readme::write(&root(), &address)?),
        [word, new] if word == "version" => return set_version(new),
        [unknown, ..] => return Err(Failure::Usage(format!("unexpected `{unknown}`"))),
    }
    package(&[])?;
    compatible()?;
    if address.starts_with(PLACEHOLDER) {
        return Err(Failure::Check(format!(
            "`repository` in Cargo.toml is a placeholder ({PLACEHOLDER}…): set the address of the repository, and write the \
             READMEs with `cargo xtask release readmes`"
        )));
    }
    Ok(())
}

/// Sets the version of everything: three numbers, and what may follow them in a version.
fn set_version(new: &str) -> Result<(), Failure> {
    let numbers = new.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<&str> = numbers.split('.').collect();
    if numbers.len() != 3 || numbers.iter().any(|it| it.parse::<u32>().is_err()) {
        return Err(Failure::Usage(format!(
            "`{new}` is not a version, such as 0.2.0"
        )));
    }
    Ok(versions::set(&root(), new)?)
}

/// Packages all crates, without building them again. Fails for a manifest that a registry would refuse.
pub(crate) fn package(options: &[&str]) -> Result<(), String> {
    readme::check(&root(), &repository()?)?;
    let mut package = cargo(&["package", "--workspace", "--no-verify", "--quiet"]);
    for own in OWN {
        package.args(["--exclude", own]);
    }
    sh(package.args(options))
}

/// Compares the public interfaces with those of the last tag.
fn compatible() -> Result<(), String> {
    // A release may have its tag already.
    let tag = ["describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"];
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

pub(crate) fn repository() -> Result<String, String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))
        .map_err(|why| format!("Cargo.toml cannot be read: {why}"))?;
    let address = repository_in(&manifest).ok_or("Cargo.toml has no `repository`")?;
    Ok(address.to_owned())
}

/// The value of `repository` in the workspace's manifest.
pub(crate) fn repository_in(manifest: &str) -> Option<&str> {
    let value = manifest
        .lines()
        .find_map(|line| line.strip_prefix("repository = "))?;
    Some(value.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::repository_in;

    #[test]
    fn the_repository_is_read() {
        let manifest = "[workspace.package]\nversion = \"0.1.0\"\nrepository = \"https://a.b/c\"\n";
        assert_eq!(repository_in(manifest), Some("https://a.b/c"));
        assert_eq!(repository_in("[workspace]\n"), None);
    }
}
