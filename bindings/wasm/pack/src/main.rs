//! Makes the JavaScript around a WebAssembly module.
//!
//! `gadgetry-wasm-pack MODULE FOLDER` is run by `build.mjs`. It is what the command `wasm-bindgen` does, in the version that the lock file
//! names, so that no one has to install that.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(module), Some(folder)) = (arguments.next(), arguments.next()) else {
        return failed("usage: gadgetry-wasm-pack MODULE FOLDER");
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).typescript(false);
    bindgen
        .remove_name_section(true)
        .remove_producers_section(true);
    let made = bindgen.web(true).and_then(|it| it.generate(folder));
    made.map_or_else(
        |error| failed(&format!("{error:#}")),
        |()| ExitCode::SUCCESS,
    )
}

#[expect(clippy::print_stderr, reason = "a command")]
fn failed(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}
