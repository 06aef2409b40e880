//! Running other programs from the root of the repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository, wherever the command was called.
pub(crate) fn root() -> PathBuf {
    // `cargo run` sets it; the one from compile time serves a binary that is started by hand.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().unwrap_or(Path::new(".")).to_owned()
}

/// `program`, to be started at the root.
pub(crate) fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    // Cargo describes our package in them to us. The build script of `ring` runs again when they change, so a cargo that
    // inherited them would build all TLS again after each build outside of `cargo xtask`.
    for (name, _) in std::env::vars_os() {
        let is_ours = |prefix: &[u8]| name.as_encoded_bytes().starts_with(prefix);
        if is_ours(b"CARGO_PKG_") || is_ours(b"CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// The cargo that started us.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    command(&cargo, args)
}

/// Runs a command whose output the user sees.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}` failed: {status}", shown(command))),
        Err(error) => Err(format!("`{}` did not start: {error}", shown(command))),
    }
}

/// Runs a command and keeps its standard output and standard error.
pub(crate) fn capture(command: &mut Command) -> Result<(String, String), String> {
    match command.output() {
        Ok(output) => {
            let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() {
                Ok((stdout, stderr))
            } else {
                let status = output.status;
                Err(format!(
                    "`{}` failed: {status}\n{stdout}{stderr}",
                    shown(command)
                ))
            }
        }
        Err(error) => Err(format!("`{}` did not start: {error}", shown(command))),
    }
}

/// Returns whether a command is there and answers; shows nothing.
pub(crate) fn answers(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    std::iter::once(program)
        .chain(command.get_args())
        .map(std::ffi::OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}
