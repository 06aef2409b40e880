//! Files that this program itself reads, or runs outside the sandbox: no call may change them.

use std::env;
use std::path::{Path, PathBuf};

use gadgetry::CommandGadget;

use crate::cli::GadgetOptions;
use crate::config::Declared;

/// Returns configuration files, and those files that commands of hooks, commands after changes and MCP servers name. Hooks run in
/// `folder`.
pub(crate) fn of_configuration(
    declared: &Declared,
    options: &GadgetOptions,
    folder: &Path,
) -> Vec<PathBuf> {
    let mut files = declared.files.clone();
    for hook in &declared.hooks {
        files.extend(named_in(&hook.command, folder));
    }
    let workspace = folder.join(options.workspace.as_deref().unwrap_or(Path::new("")));
    for command in &declared.after_edit {
        files.extend(named_in(&command.line, &workspace));
    }
    for server in declared.servers.values() {
        let (words, cwd) = server.program();
        let folder = folder.join(cwd.unwrap_or_default());
        files.extend(words.into_iter().flat_map(|word| named_in(word, &folder)));
    }
    #[cfg(feature = "mcp")]
    for server in &options.mcp {
        if let gadgetry_mcp::config::Transport::Stdio(program) = &server.config.transport {
            let words = program.args.iter().chain([&program.command]);
            files.extend(words.flat_map(|word| named_in(word, folder)));
        }
    }
    files
}

/// Returns the programs of gadgets, and those of their arguments that are files.
pub(crate) fn of_gadgets(gadgets: &[CommandGadget], folder: &Path) -> Vec<PathBuf> {
    let arguments = gadgets.iter().flat_map(CommandGadget::arguments);
    let arguments = arguments.flat_map(|word| named_in(word, folder));
    let programs = gadgets.iter().map(|gadget| folder.join(gadget.program()));
    arguments.chain(programs).collect()
}

/// Returns the files that words of a command line name. Its folders are not among them: `cargo test src` reads `src`.
fn named_in(line: &str, folder: &Path) -> Vec<PathBuf> {
    let mut line = line.to_owned();
    for here in ["CLAUDE_PROJECT_DIR", "PWD"] {
        line = line.replace(&format!("${{{here}}}"), ".");
        line = line.replace(&format!("${here}"), ".");
    }
    let unquoted = line.replace(['"', '\''], "");
    let is_end = |c: char| c.is_ascii_whitespace() || ";&|<>()`=".contains(c);
    let words = unquoted.split(is_end);
    // What is quoted may have blanks.
    let words = words.chain(line.split(['"', '\'']));
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let paths = words.map(|word| {
        let in_home = ["~/", "$HOME/", "${HOME}/"];
        match in_home.iter().find_map(|it| word.strip_prefix(it)) {
            Some(rest) => home.join(rest),
            None => folder.join(word),
        }
    });
    paths.filter(|path| path.is_file()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn command_lines_name_files() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        for name in ["a.sh", "src/b.sh", "c d.sh"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let check = |line: &str, expected: &[&str]| {
            let line = line.replace("FOLDER", folder.path().to_str().unwrap());
            let mut named: Vec<PathBuf> = named_in(&line, folder.path());
            for path in &mut named {
                *path = path.components().collect();
            }
            named.sort();
            named.dedup();
            let expected: Vec<PathBuf> = expected.iter().map(|it| folder.path().join(it)).collect();
            assert_eq!(named, expected, "{line}");
        };
        check("./a.sh", &["a.sh"]);
        check("FOLDER/a.sh 1", &["a.sh"]);
        check("[ -x a.sh ]&&sh src/b.sh;true", &["a.sh", "src/b.sh"]);
        check("node --require=src/b.sh x", &["src/b.sh"]);
        check("\"$CLAUDE_PROJECT_DIR\"/src/b.sh", &["src/b.sh"]);
        check("${CLAUDE_PROJECT_DIR}/src/b.sh", &["src/b.sh"]);
        check("sh 'c d.sh'", &["c d.sh"]);
        check("cargo test src", &[]);
        check("", &[]);
    }
}
