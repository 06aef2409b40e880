//! `cargo xtask book`: the documentation site, built with mdBook from `docs/`, with all links checked.

use crate::Failure;
use crate::release;
use crate::shell::{cargo, root, run as sh};

/// The program that builds it is outside of the workspace.
pub(crate) const MANIFEST: &str = "xtask/book/Cargo.toml";

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if let [unknown, ..] = args {
        return Err(Failure::Usage(format!("unexpected `{unknown}`")));
    }
    Ok(build()?)
}

/// Builds the site into `target/book`. Fails for a link that leads nowhere.
pub(crate) fn build() -> Result<(), String> {
    let mut book = cargo(&["run", "--quiet", "--locked", "--manifest-path", MANIFEST]);
    // A folder of its own: its dependencies have other features than ours.
    book.arg("--target-dir")
        .arg(root().join("target/book-build"));
    sh(book.arg("--").arg(release::repository()?))?;
    Ok(())
}
