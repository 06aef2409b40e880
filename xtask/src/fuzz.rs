//! `cargo xtask fuzz`: the fuzzer on every target.

use crate::Failure;
use crate::shell::{answers, capture, command, run as sh};

/// Runs each target for this many seconds.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let seconds = match args {
        [] => 60,
        [seconds] => seconds
            .parse::<u32>()
            .map_err(|_| Failure::Usage(format!("`{seconds}` is not a number of seconds")))?,
        [_, unknown, ..] => return Err(Failure::Usage(format!("unexpected `{unknown}`"))),
    };
    let nightly = |args: &[&str]| {
        let mut command = command("rustup", &["run", "nightly", "cargo", "fuzz"]);
        // The toolchain that started us must not leak into the other one.
        command
            .args(args)
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("CARGO");
        command
    };
    if !answers(&mut nightly(&["--version"])) {
        let missing =
            "a nightly compiler and cargo-fuzz are needed (cargo install cargo-fuzz --locked)";
        return Err(Failure::Check(missing.to_owned()));
    }
    let (targets, _) = capture(&mut nightly(&["list"]))?;
    let time = format!("-max_total_time={seconds}");
    for target in targets.lines() {
        sh(&mut nightly(&["run", target, "--", &time, "-max_len=4096"]))?;
    }
    Ok(())
}
