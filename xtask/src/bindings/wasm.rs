//! The package for browsers.
//!
//! `node/outside/wasm` (below the tests of the package for Node.js, whose tools and vectors it uses): a copy of the tests, with the package.

use std::path::Path;

use super::node::{install, run_tests};
use super::{copied, copied_package};
use crate::book;
use crate::shell::{capture, command, root, run as sh};

const WASM: &str = "bindings/wasm";
const TARGET: &str = "wasm32-unknown-unknown";

/// Builds and tests the package in `folder`, after the one for Node.js. Returns why not, where the machine lacks something.
pub(super) fn check(folder: &Path) -> Result<Option<String>, String> {
    if let Err(why) = standard_library() {
        return Ok(Some(format!(
            "the package for browsers was not tested: {TARGET} is not to be had: {why}"
        )));
    }
    build(folder)?;
    let outside = folder.join("node/outside/wasm");
    copied(&root().join(WASM).join("test"), &outside)?;
    install(WASM, &outside)?;
    // A page of the site uses it.
    book::build()?;
    run_tests(&outside)?;
    Ok(None)
}

/// Builds the module and copies the package into `place`, for [`crate::dist`], which adds to it before it packs it.
pub(crate) fn release(folder: &Path, place: &Path) -> Result<(), String> {
    build(folder)?;
    copied_package(WASM, &["lib", "module"], place)
}

fn build(folder: &Path) -> Result<(), String> {
    let mut build = command("node", &["build.mjs"]);
    build.current_dir(root().join(WASM));
    sh(build.env("CARGO_TARGET_DIR", folder))
}

/// Has the compiler's standard library for the target installed.
pub(crate) fn standard_library() -> Result<(), String> {
    let rustc = ["--print", "target-libdir", "--target", TARGET];
    let (place, _) = capture(command("rustc", &rustc).current_dir(root()))?;
    if Path::new(place.trim()).exists() {
        return Ok(());
    }
    capture(command("rustup", &["target", "add", TARGET]).current_dir(root())).map(|_| ())
}
