//! Whether what a program of a server does may depend on the folder that it is started in.

use std::path::Path;

use gadgetry_mcp::ServerConfig;
use gadgetry_mcp::config::Transport;

/// Endings of files that programs run or read.
const ENDINGS: [&str; 24] = [
    "bat", "cfg", "cjs", "cmd", "conf", "env", "exe", "ini", "jar", "js", "json", "lua", "mjs",
    "mts", "php", "pl", "ps1", "py", "rb", "sh", "toml", "ts", "yaml", "yml",
];

/// Files that launchers of packages read in the folder that they are started in.
const OF_LAUNCHERS: [(&[&str], &[&str]); 3] = [
    (
        &["bun", "bunx", "node", "npm", "npx", "pnpm", "pnpx", "yarn"],
        &[
            ".npmrc",
            ".pnp.cjs",
            ".pnpmfile.cjs",
            ".yarnrc.yml",
            "bunfig.toml",
            "node_modules",
            "package.json",
        ],
    ),
    (
        &["pipx", "python", "python3", "uv", "uvx"],
        &[
            ".python-version",
            ".venv",
            "pyproject.toml",
            "setup.cfg",
            "sitecustomize.py",
            "usercustomize.py",
            "uv.toml",
        ],
    ),
    (
        &["deno"],
        &["deno.json", "deno.jsonc", "node_modules", "package.json"],
    ),
];

/// Whether another folder than `folder` may make another program of the server: a path in its command, its arguments or its
/// environment is relative, or may be.
pub(super) fn depends_on(config: &ServerConfig, folder: &Path) -> bool {
    let Transport::Stdio(stdio) = &config.transport else {
        return false;
    };
    let command = Path::new(&stdio.command);
    if command.is_relative() && command.components().count() > 1 {
        return true;
    }
    // In a folder of its own, relative paths mean the same wherever it is started.
    if stdio.cwd.as_ref().is_some_and(|cwd| cwd.is_absolute()) {
        return false;
    }
    let exists = |name: &str| folder.join(name).symlink_metadata().is_ok();
    let name = command.file_stem().unwrap_or_default().to_string_lossy();
    let launchers = OF_LAUNCHERS.iter();
    let mut read = launchers.filter(|(names, _)| names.contains(&&*name));
    stdio.cwd.is_some()
        || read.any(|(_, files)| files.iter().any(|file| exists(file)))
        || stdio.args.iter().any(|arg| is_path(arg, &exists))
        || stdio.env.values().any(|value| has_relative(value, &exists))
}

/// Whether a part of an argument is a relative path, or may be one.
fn is_path(arg: &str, exists: &impl Fn(&str) -> bool) -> bool {
    // An argument may be a script or have a path after a name: `-c`, `node x.js`; `--config=x`; `-Ix`.
    has_relative(arg, exists)
        || words(arg).any(|word| {
            let is_elsewhere = word.starts_with(['/', '@', '~', '$']) || word.contains("://");
            let ending = word
                .rsplit_once('.')
                .map(|(_, ending)| ending.to_ascii_lowercase());
            let is_file = ending.is_some_and(|it| ENDINGS.contains(&&*it));
            !is_elsewhere && (word.contains(['/', '\\']) || is_file)
        })
}

/// Whether a part of a text is certainly a relative path: it begins like one, or there is such a file.
fn has_relative(text: &str, exists: &impl Fn(&str) -> bool) -> bool {
    let is_relative = |word: &str| {
        let begins = [".", ".."].contains(&word)
            || ["./", "../", ".\\", "..\\"]
                .iter()
                .any(|it| word.starts_with(it));
        let is_absolute = Path::new(word).is_absolute();
        begins || !is_absolute && (exists(word) || exists(&format!("{word}.py")))
    };
    !text.is_empty() && is_relative(text) || words(text).any(is_relative)
}

/// The parts of a text that may be paths, and what follows the letter of an option.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "'\"`=,;:&|<>(){}[]".contains(c);
    let words = text.split(is_between);
    let words = words.flat_map(|word| {
        let after = word.strip_prefix('-').and_then(|it| {
            let (at, _) = it.char_indices().nth(1)?;
            Some(&it[at..])
        });
        [Some(word), after]
    });
    words.flatten().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    #[test]
    fn what_depends_on_the_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["there", "module.py", "node_modules"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        let other = tempfile::tempdir().expect("a folder");
        let config = |line: &str, cwd: Option<&str>, env: &str| {
            let mut words = line.split('|');
            let mut config = ServerConfig::stdio(words.next().unwrap_or_default(), words);
            if let Transport::Stdio(stdio) = &mut config.transport {
                stdio.cwd = cwd.map(Into::into);
                stdio.env = BTreeMap::from([("X".to_owned(), env.to_owned())]);
            }
            config
        };
        let check = |line: &str, here: bool, elsewhere: bool| {
            let config = config(line, None, "");
            assert_eq!(depends_on(&config, folder.path()), here, "{line}");
            assert_eq!(depends_on(&config, other.path()), elsewhere, "{line}");
        };
        // They may be relative, whether there is such a file or not.
        for line in [
            "./server",
            "bin/server",
            "sh|server.sh",
            "node|dist/index.js",
            "sh|./x",
            "sh|../x",
            "x|--config=x.toml",
            "x|--config=./x",
            "x|-C.",
            "sh|-c|exec ./x",
            "sh|-c|. x/y",
            "x|.",
            "x|..",
            "x|a:./b",
            "x|-I../lib",
            "node|-e|require('./x')",
            "sh|-c|cd sub/dir&&true",
        ] {
            check(line, true, true);
        }
        // They are relative where there is such a file.
        for line in [
            "sh|there",
            "x|--config=there",
            "x|-cthere",
            "sh|-c|cat<there",
            "python3|-m|module",
            "npx|-y|server",
            "/usr/bin/npx|x",
        ] {
            check(line, true, false);
        }
        // These are the same everywhere.
        for line in [
            "server",
            "/usr/bin/server",
            "sh|-c|exec server --stdio",
            "x|/absolute/server.sh",
            "x|--port=80",
            "uvx|server-git",
            "x|https://host/path",
            "x|",
        ] {
            check(line, false, false);
        }
        check("npx|-y|@scope/server", true, false);
        let check = |line: &str, cwd: Option<&str>, env: &str, expected: bool| {
            let config = config(line, cwd, env);
            assert_eq!(
                depends_on(&config, other.path()),
                expected,
                "{line} {cwd:?} {env}"
            );
        };
        check("sh|server.sh", Some("/srv"), "", false);
        check("./sh|x", Some("/srv"), "", true);
        check("sh|x", Some("${HERE}"), "", true);
        check("python3|-m|x", None, "/usr/bin:.", true);
        check("python3|-m|x", None, "--require ./x", true);
        check("python3|-m|x", None, "abc/def+key==", false);
    }
}
