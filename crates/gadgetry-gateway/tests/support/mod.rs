//! What the tests share: a scripted upstream, a gateway before it, and a plain HTTP client.

pub(crate) mod bodies;
pub(crate) mod exchanges;
pub(crate) mod llama;
pub(crate) mod upstream;
pub(crate) mod world;

use std::fs;
use std::path::Path;

/// The last word of the command of what `cargo xtask test servers` has installed under a name; `None` if it is not there, which
/// a line on standard error says.
pub(crate) fn installed(name: &str) -> Option<String> {
    command(name)?.pop()
}

/// The command of what `cargo xtask test servers` has installed under a name.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn command(name: &str) -> Option<Vec<String>> {
    // Two folders above the test program, whatever the target folder is.
    let program = std::env::current_exe().expect("it runs");
    let target = program.ancestors().nth(3).expect("a target folder");
    let file = target.join("servers").join(format!("{name}.command"));
    let words = read(&file);
    if words.is_none() {
        let why = fs::read_to_string(target.join("servers").join(format!("{name}.missing")));
        let why = why.unwrap_or_else(|_| "run cargo xtask test servers".to_owned());
        eprintln!("skipped: {name} is not installed: {why}");
    }
    words
}

fn read(file: &Path) -> Option<Vec<String>> {
    let text = fs::read_to_string(file).ok()?;
    Some(text.lines().map(str::to_owned).collect())
}
