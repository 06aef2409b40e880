//! Where `cargo xtask test servers` has installed what others wrote. The tests of the command line have this file, too.

use std::fs;
use std::path::Path;

/// The last word of the command of what `cargo xtask test servers` has installed under a name; `None` if it is not there,
/// which a line on standard error says.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn installed(name: &str) -> Option<String> {
    // Two folders above the test program, whatever the target folder is.
    let program = std::env::current_exe().expect("it runs");
    let servers = program
        .ancestors()
        .nth(3)
        .expect("a target folder")
        .join("servers");
    let command = fs::read_to_string(servers.join(format!("{name}.command"))).ok();
    if command.is_none() {
        let why = fs::read_to_string(servers.join(format!("{name}.missing")));
        let why = why.unwrap_or_else(|_| "run cargo xtask test servers".to_owned());
        eprintln!("skipped: {name} is not installed: {why}");
    }
    Some(command?.lines().last()?.to_owned())
}

/// A program of a package for Node.js, as the arguments of `node`.
pub(crate) fn node(package: &str, program: &str) -> Option<String> {
    let folder = installed("mcp-node")?;
    let program = Path::new(&folder).join(package).join(program);
    Some(program.display().to_string())
}

/// The interpreter that has the Python SDK.
pub(crate) fn python() -> Option<String> {
    installed("mcp-python")
}
